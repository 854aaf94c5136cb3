// Clears the usage log up to a moment; 30 days ago unless another is chosen (requirements B9).
import { DatePicker } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { formatCount } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { logApi } from "#contract/log.ts";

const DEFAULT_DAYS = 30;

export function LogClearing() {
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
