// Which set of permissions an administrator has: chosen by super administrators, beside the form since it ends the sessions.
import { useQuery } from "@tanstack/react-query";
import { Button, Select } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { staffApi } from "#contract/staff.ts";
import type { User } from "#contract/user.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import "./list.css";

export function StaffSetChoice({ user }: { readonly user: User }) {
  const sets = useQuery({ ...query(staffApi.list, {}), staleTime: 30_000 });
  const [chosen, choose] = useState(user.staff_set_id);
  const assign = useCall(staffApi.assign, {
    invalidates: [staffApi.list, userAdminApi.list, userAdminApi.search, userAdminApi.get],
    onSuccess: () => toast.success("权限集已更新，该管理员须重新登录！"),
  });
  return (
    <section className="tg-card tg-section">
      <h2>权限集</h2>
      <p>限定这位管理员可以做什么；“不限”即拥有管理员的全部权限。更改后，其登录与系统访问令牌立即失效。</p>
      <div className="tg-staff-choice">
        <Select
          aria-label="权限集"
          value={chosen}
          loading={sets.isPending}
          options={[
            { value: 0, label: "不限" },
            ...(sets.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
          onChange={choose}
        />
        <Button
          disabled={chosen === user.staff_set_id}
          loading={assign.isPending}
          onClick={() => assign.mutate({ params: { id: user.id }, body: { staff_set_id: chosen } })}
        >
          更改权限集
        </Button>
      </div>
    </section>
  );
}
