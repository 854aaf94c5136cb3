// Permissions to tick, by what they are about.
import { Checkbox, Form, type FormRule } from "antd";
import { PERMISSION_RESOURCES, PERMISSIONS, type Permission } from "#contract/permission.ts";
import "./permission-fields.css";

function resourceOf(name: string): string {
  return name.slice(0, name.indexOf("."));
}

/** The field `permissions` of a form; `names` are offered. */
export function PermissionFields({
  names,
  rules,
}: {
  readonly names: readonly Permission[];
  readonly rules: FormRule[];
}) {
  return (
    <Form.Item name="permissions" rules={rules}>
      <Checkbox.Group className="tg-permissions">
        {[...new Set(names.map(resourceOf))].map((resource) => (
          <fieldset key={resource}>
            <legend>{PERMISSION_RESOURCES[resource]}</legend>
            {names
              .filter((name) => resourceOf(name) === resource)
              .map((name) => (
                <Checkbox key={name} value={name}>
                  {PERMISSIONS[name]}
                </Checkbox>
              ))}
          </fieldset>
        ))}
      </Checkbox.Group>
    </Form.Item>
  );
}
