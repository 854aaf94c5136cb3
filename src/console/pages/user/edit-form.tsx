// Edits any user as an administrator, with group and quota (requirements B6). The user's own profile is self.tsx.
import { useState } from "react";
import { formQuery, useCall } from "#console/base/call.ts";
import { newActKey } from "#console/base/once.ts";
import { isRoot, may, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { FormPage } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Role, userApi } from "#contract/user.ts";
import { type EditedUser, userAdminApi } from "#contract/user-admin.ts";
import { AccountFields, BindingFields, RightsFields } from "./edit-fields.tsx";
import { FactorReset } from "./factor-reset.tsx";
import { StaffSetChoice } from "./staff-set.tsx";
import { isProtected, type UserValues, updateOf, valuesOf } from "./values.ts";
import { ViewAs } from "./view-as.tsx";

function EditUserForm({ user: found }: { readonly user: EditedUser }) {
  // Amounts are differences to what the form was opened with, whatever is read later; sent twice, they are booked once.
  const [user] = useState(found);
  const [idempotencyKey] = useState(newActKey);
  const self = useUser();
  const toList = useToList("/user");
  const update = useCall(userAdminApi.update, {
    invalidates: [userAdminApi.list, userAdminApi.search, userAdminApi.get, userApi.self],
    onSuccess: () => toast.success("用户信息更新成功！"),
  });
  return (
    <>
      <ResourceForm<UserValues>
        initial={valuesOf(user)}
        kept={["username", "display_name", "group", "remark"]}
        onSubmit={(values) => update.mutateAsync({ body: updateOf(user, values), idempotencyKey })}
        onDone={toList}
        onCancel={toList}
      >
        {() => (
          <>
            <AccountFields user={user} isSelf={user.id === self?.id} />
            <RightsFields
              user={user}
              mayChangeRole={isRoot(self) && !isProtected(user)}
              mayChangeGroup={may(self, "user.group.write")}
              mayChangeMoney={may(self, "money.adjust")}
            />
            <BindingFields user={user} />
          </>
        )}
      </ResourceForm>
      {isRoot(self) && user.role === Role.admin ? <StaffSetChoice user={user} /> : null}
      {user.id === self?.id || isProtected(user) || !may(self, "user.view_as") ? null : (
        <ViewAs user={user} />
      )}
      {user.id === self?.id || !may(self, "user.mfa.reset") ? null : <FactorReset user={user} />}
    </>
  );
}

export function EditUserPage() {
  return (
    <FormPage<EditedUser> load={(id) => formQuery(userAdminApi.get, { params: { id } })}>
      {(user) => user && <EditUserForm user={user} />}
    </FormPage>
  );
}
