// A tab of options: its sections, fed by the option list.
import { useQuery } from "@tanstack/react-query";
import { DatePicker } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { useEffect, useMemo, useState } from "react";
import { useLocation } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { formatCount } from "#console/base/format.ts";
import { CALM, matches } from "#console/base/media.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section as SettingSection } from "#console/ui/section.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { logApi } from "#contract/log.ts";
import { type OptionTab, optionApi } from "#contract/option.ts";
import { GroupRenaming } from "./group-renaming.tsx";
import { KeyForgetting } from "./key-forgetting.tsx";
import { OptionSection } from "./option-section.tsx";
import { textsOf } from "./option-values.ts";
import { type Section, sections } from "./sections.ts";
import { UpdateCheck } from "./update-check.tsx";

const DEFAULT_DAYS = 30;

function LogClearing() {
  const [before, setBefore] = useState<Dayjs>(() => dayjs().subtract(DEFAULT_DAYS, "day").millisecond(0));
  const clear = useCall(logApi.clear, { silent: true, invalidates: [logApi.list, logApi.stat] });
  const start = () =>
    clear.mutate(
      { query: { target_timestamp: before.unix() } },
      {
        onSuccess: (count) => toast.success(`${formatCount(count)} 条日志已清理！`),
        onError: (error) => toast.error(`日志清理失败：${faultText(error)}`),
      },
    );
  return (
    <div className="tg-log-clearing">
      <h3>清理历史日志</h3>
      <p>删除此时间之前的调用（含失败的）与测试记录；充值与管理记录会保留，余额与已用额度不受影响。</p>
      <div className="tg-form-inline">
        <DatePicker
          showTime
          value={before}
          allowClear={false}
          format="YYYY-MM-DD HH:mm:ss"
          aria-label="清理截止时间"
          disabledDate={(day) => day.isAfter(dayjs(), "day")}
          onChange={(next) => setBefore(next ?? before)}
        />
        <ConfirmButton
          danger
          loading={clear.isPending}
          question={`清理 ${before.format("YYYY-MM-DD HH:mm:ss")} 之前的日志？清理后无法恢复。`}
          confirmText="确认清理"
          onConfirm={start}
        >
          清理历史日志
        </ConfirmButton>
      </div>
    </div>
  );
}

/** Shows a section, and brings the keyboard there. */
function jump(id: string): void {
  const section = document.getElementById(id);
  section?.scrollIntoView({ block: "start", behavior: matches(CALM) ? "auto" : "smooth" });
  section?.focus({ preventScroll: true });
}

function SectionJump({ sections }: { readonly sections: readonly Section[] }) {
  const { hash } = useLocation();
  // A link may name a section, which stands here only when the options have come.
  useEffect(() => {
    if (hash !== "") jump(hash.slice(1));
  }, [hash]);
  return (
    <nav className="tg-section-jump" aria-label="本页的设置">
      {sections.map(({ id, title }) => (
        <button key={id} type="button" onClick={() => jump(id)}>
          {title.replace(/^配置 ?/, "")}
        </button>
      ))}
    </nav>
  );
}

function SignOnLink() {
  return (
    <SettingSection title="登录服务" lead="用单位的身份平台登录（OpenID Connect、OAuth 2.0）。">
      <div>
        <LinkButton to="/login-provider">管理登录服务</LinkButton>
      </div>
    </SettingSection>
  );
}

function AlertLink() {
  return (
    <SettingSection
      title="通知"
      lead="渠道停用、余额不足、账实不符等情况发到飞书、钉钉、企业微信、邮件或 Webhook。"
    >
      <div>
        <LinkButton to="/alert">管理通知</LinkButton>
      </div>
    </SettingSection>
  );
}

const optionsQuery = { ...query(optionApi.list, {}), staleTime: 30_000 };

export function OptionsTab({ tab }: { readonly tab: OptionTab }) {
  const options = useQuery(optionsQuery);
  const isSuper = isRoot(useUser());
  const stored = useMemo(() => options.data && textsOf(options.data), [options.data]);
  if (stored === undefined) return <FormState error={options.error} onRetry={() => void options.refetch()} />;
  return (
    <div className="tg-setting-column">
      {tab === "system" && isSuper ? <SignOnLink /> : null}
      {tab === "operation" && isSuper ? <AlertLink /> : null}
      {tab === "other" ? null : <SectionJump sections={sections[tab]} />}
      {tab === "other" ? <UpdateCheck repository={stored.get("ReleaseRepository") ?? ""} /> : null}
      {sections[tab].map((section) => (
        <OptionSection key={section.id} section={section} stored={stored}>
          {section.id === "log" ? <LogClearing /> : null}
          {section.id === "token" && isSuper ? <KeyForgetting /> : null}
          {section.id === "group-ratio" && isSuper ? (
            <GroupRenaming ratios={stored.get("GroupRatio") ?? ""} />
          ) : null}
        </OptionSection>
      ))}
    </div>
  );
}
