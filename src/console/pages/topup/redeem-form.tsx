// Turns a code into quota; with another user's gift code both users get a little more.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input } from "antd";
import { invalidate, useCall } from "#console/base/call.ts";
import { ApiFault, handleFault } from "#console/base/faults.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { partnerApi } from "#contract/partner.ts";
import { formatQuota } from "#contract/quota.ts";
import { userApi } from "#contract/user.ts";

interface Codes {
  readonly key?: string;
  readonly gift_code?: string;
}

/** The server's own words where it answered; one sentence for everything else (requirements B8). */
function tell(error: Error): void {
  const hasAnswer = error instanceof ApiFault && error.kind !== "network" && error.kind !== "unreadable";
  if (hasAnswer) handleFault(error);
  else toast.error("请求失败");
}

export function RedeemForm() {
  const [form] = Form.useForm<Codes>();
  const client = useQueryClient();
  const display = useQuotaDisplay();
  const topUp = useCall(partnerApi.topUp, {
    silent: true,
    onSuccess: ({ data, bonus }) => {
      const extra = bonus > 0 ? `，其中赠送 ${formatQuota(bonus, display)}` : "";
      toast.success(`充值成功！到账 ${formatQuota(data, display)}${extra}`);
      form.resetFields();
      void invalidate(client, [userApi.self, partnerApi.info]);
    },
  });
  const submit = ({ key = "", gift_code = "" }: Codes) =>
    topUp.mutate({ body: { key: key.trim(), gift_code: gift_code.trim() } }, { onError: tell });
  return (
    <Form form={form} layout="vertical" requiredMark={false} onFinish={submit}>
      <Form.Item
        name="key"
        label="兑换码"
        validateTrigger="onSubmit"
        rules={[{ required: true, whitespace: true, message: "请输入兑换码！" }]}
      >
        <Input
          className="tg-code"
          maxLength={128}
          autoComplete="off"
          spellCheck={false}
          placeholder="购买后收到的兑换码"
        />
      </Form.Item>
      <Form.Item
        name="gift_code"
        label="礼品码（可选）"
        extra="填写好友的礼品码，双方各得充值额度 5% 的额外额度。"
      >
        <Input
          className="tg-code"
          maxLength={64}
          autoComplete="off"
          spellCheck={false}
          placeholder="没有可以不填"
        />
      </Form.Item>
      <Button type="primary" htmlType="submit" loading={topUp.isPending} block>
        {topUp.isPending ? "兑换中..." : "兑换"}
      </Button>
    </Form>
  );
}
