// Settings: the own account for every user; the options of the system for administrators. The tab is in the URL.
import { useQuery } from "@tanstack/react-query";
import { Tabs } from "antd";
import { useSearchParams } from "react-router";
import { isAdmin, selfQuery, useUser } from "#console/base/session.ts";
import { FormState } from "#console/ui/form-state.tsx";
import { Page } from "#console/ui/page.tsx";
import { PasswordForm } from "#console/ui/password-form.tsx";
import { withParams } from "#console/ui/table-state.ts";
import { Access } from "./access.tsx";
import { Bindings } from "./bindings.tsx";
import { OptionsTab } from "./options-tab.tsx";
import { RemoveAccount } from "./remove-account.tsx";
import "./setting.css";

function PersonalTab() {
  const self = useQuery(selfQuery);
  if (self.data === undefined) return <FormState error={self.error} onRetry={() => void self.refetch()} />;
  return (
    <div className="tg-setting-column">
      <PasswordForm />
      <Bindings user={self.data} />
      <Access />
      <RemoveAccount user={self.data} />
    </div>
  );
}

const personal = [{ key: "personal", label: "个人设置", children: <PersonalTab /> }];
const administrative = [
  { key: "operation", label: "运营设置", children: <OptionsTab tab="operation" /> },
  { key: "system", label: "系统设置", children: <OptionsTab tab="system" /> },
  { key: "other", label: "其他设置", children: <OptionsTab tab="other" /> },
];

export function SettingPage() {
  const user = useUser();
  const [params, setParams] = useSearchParams();
  const items = isAdmin(user) ? [...personal, ...administrative] : personal;
  const asked = params.get("tab");
  const active = items.some(({ key }) => key === asked) ? asked : "personal";
  return (
    <Page title="设置" width="form">
      <Tabs
        activeKey={active ?? "personal"}
        items={items}
        className="tg-setting-tabs"
        onChange={(tab) =>
          setParams((current) => withParams(current, { tab: tab === "personal" ? "" : tab }), {
            replace: true,
          })
        }
      />
    </Page>
  );
}
