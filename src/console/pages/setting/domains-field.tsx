// A list of mail domains as tags; an empty or repeated one is refused with a word, not dropped (requirements B5).
import { Select } from "antd";
import { useState } from "react";

export interface DomainsFieldProps {
  /** Given by Form.Item, as all below. */
  readonly id?: string;
  readonly value?: readonly string[];
  readonly onChange?: (domains: readonly string[]) => void;
  readonly disabled: boolean;
}

const SEPARATOR = /\s*[,，]\s*|\s+/;

export function DomainsField({ id, value = [], onChange, disabled }: DomainsFieldProps) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const add = (entries: readonly string[]) => {
    const domains = [...value];
    const faults = new Set<string>();
    for (const domain of entries.map((entry) => entry.trim().toLowerCase())) {
      if (domain === "") faults.add("域名不能为空");
      else if (domains.includes(domain)) faults.add(`${domain} 已在白名单中`);
      else domains.push(domain);
    }
    setText("");
    setFault([...faults].join("；"));
    if (domains.length > value.length) onChange?.(domains);
  };
  const type = (typed: string) => {
    const parts = typed.split(SEPARATOR);
    if (parts.length > 1) {
      // Behind the last separator stands nothing yet.
      add(parts.at(-1) === "" ? parts.slice(0, -1) : parts);
      return;
    }
    setText(typed);
    if (typed !== "") setFault("");
  };
  return (
    <>
      <Select<string[]>
        {...(id === undefined ? {} : { id })}
        mode="tags"
        disabled={disabled}
        open={false}
        suffixIcon={null}
        placeholder="example.com"
        value={[...value]}
        showSearch={{ searchValue: text, onSearch: type }}
        // Called for a tag that is there already, too.
        onSelect={(domain: string) => add([domain])}
        onChange={(domains) => {
          if (domains.length < value.length) onChange?.(domains);
        }}
      />
      {fault === "" ? null : (
        <p className="tg-setting-fault" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}
