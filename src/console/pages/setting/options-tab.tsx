// A tab of options: its sections, fed by the option list.
import { useQuery } from "@tanstack/react-query";
import { DatePicker } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { useMemo, useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { formatCount } from "#console/base/format.ts";
import { isRoot, useMay, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section as SettingSection } from "#console/ui/section.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { logApi } from "#contract/log.ts";
import { type OptionTab, optionApi } from "#contract/option.ts";
import { GroupRenaming } from "./group-renaming.tsx";
import { KeyForgetting } from "./key-forgetting.tsx";
import { isOfModels } from "./model-sections.ts";
import { OptionSection } from "./option-section.tsx";
import { textsOf } from "./option-values.ts";
import { SectionJump } from "./section-jump.tsx";
import { sections } from "./sections.ts";
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

function PriceLink() {
  return (
    <SettingSection title="模型与价格" lead="每个模型的价格、阶梯与停用日期；倍率表与 JSON 也在那里。">
      <div>
        <LinkButton to="/price">管理模型与价格</LinkButton>
      </div>
    </SettingSection>
  );
}

const optionsQuery = { ...query(optionApi.list, {}), staleTime: 30_000 };

export function OptionsTab({ tab }: { readonly tab: OptionTab }) {
  const options = useQuery(optionsQuery);
  const isSuper = isRoot(useUser());
  const mayClear = useMay("log.delete");
  const stored = useMemo(() => options.data && textsOf(options.data), [options.data]);
  const shown = sections[tab].filter((section) => !isOfModels(section));
  if (stored === undefined) return <FormState error={options.error} onRetry={() => void options.refetch()} />;
  return (
    <div className="tg-setting-column">
      {tab === "system" && isSuper ? <SignOnLink /> : null}
      {tab === "operation" && isSuper ? <AlertLink /> : null}
      {tab === "operation" ? <PriceLink /> : null}
      {tab === "other" ? null : <SectionJump sections={shown} />}
      {tab === "other" ? <UpdateCheck repository={stored.get("ReleaseRepository") ?? ""} /> : null}
      {shown.map((section) => (
        <OptionSection key={section.id} section={section} stored={stored}>
          {section.id === "log" && mayClear ? <LogClearing /> : null}
          {section.id === "token" && isSuper ? <KeyForgetting /> : null}
          {section.id === "group-ratio" && isSuper ? (
            <GroupRenaming ratios={stored.get("GroupRatio") ?? ""} />
          ) : null}
        </OptionSection>
      ))}
    </div>
  );
}
