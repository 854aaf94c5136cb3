// Edits any user as an administrator, with group and quota (requirements B6). The user's own profile is self.tsx.
import { useState } from "react";
import { formQuery, useCall } from "#console/base/call.ts";
import { newActKey } from "#console/base/once.ts";
import { isRoot, may, useMay, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { FormPage } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { Role, userApi } from "#contract/user.ts";
import { type EditedUser, userAdminApi } from "#contract/user-admin.ts";
import { AccountFields, BindingFields, RightsFields } from "./edit-fields.tsx";
import { FactorReset } from "./factor-reset.tsx";
import { QuotaIncrease } from "./quota-increase.tsx";
import { SessionsEnd } from "./sessions-end.tsx";
import { StaffSetChoice } from "./staff-set.tsx";
import { isProtected, type UserValues, updateOf, valuesOf } from "./values.ts";
import { ViewAs } from "./view-as.tsx";

interface EditedProps {
  readonly user: EditedUser;
}

function EditUserForm({ user }: EditedProps) {
  const [idempotencyKey] = useState(newActKey);
  const self = useUser();
  const toList = useToList("/user");
  const update = useCall(userAdminApi.update, {
    invalidates: [userAdminApi.list, userAdminApi.search, userAdminApi.get, userApi.self],
    onSuccess: () => toast.success("用户信息更新成功！"),
  });
  return (
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
  );
}

/** What is done beside the form: each act by itself, for those who may. */
function Acts({ user }: EditedProps) {
  const self = useUser();
  const isOther = user.id !== self?.id;
  const mayAdjust = may(self, "user.write") && may(self, "money.adjust");
  return (
    <>
      {isOther && !mayAdjust && may(self, "money.topup") ? <QuotaIncrease user={user} /> : null}
      {isRoot(self) && user.role === Role.admin ? <StaffSetChoice user={user} /> : null}
      {isOther && !isProtected(user) && may(self, "user.view_as") ? <ViewAs user={user} /> : null}
      {isOther && may(self, "user.session.end") ? <SessionsEnd user={user} /> : null}
      {isOther && may(self, "user.mfa.reset") ? <FactorReset user={user} /> : null}
    </>
  );
}

function EditedAccount({ user: found }: EditedProps) {
  // Amounts are differences to what the form was opened with, whatever is read later; sent twice, they are booked once.
  const [user] = useState(found);
  return (
    <>
      {useMay("user.write") ? (
        <EditUserForm user={user} />
      ) : (
        <Section title={user.username} lead={`用户 #${user.id}，分组 ${user.group}。`}>
          您的权限集不能修改该用户的资料。
        </Section>
      )}
      <Acts user={found} />
    </>
  );
}

export function EditUserPage() {
  return (
    <FormPage<EditedUser> load={(id) => formQuery(userAdminApi.get, { params: { id } })}>
      {(user) => user && <EditedAccount user={user} />}
    </FormPage>
  );
}
