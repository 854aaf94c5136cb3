// Gives a token another key; the one before goes on working for a while. The new key is shown at once.
import { Form, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { AskDialog } from "#console/ui/ask-dialog.tsx";
import { SecretsDialog } from "#console/ui/secrets-dialog.tsx";
import type { Endpoint } from "#contract/endpoint.ts";
import { type Token, tokenApi } from "#contract/token.ts";
import { ClientButton } from "./client-dialog.tsx";
import { onceHint } from "./values.ts";

const HOUR_SEC = 3_600;

const OVERLAPS = [
  { label: "立即失效", value: 0 },
  { label: "1 小时", value: HOUR_SEC },
  { label: "24 小时", value: 24 * HOUR_SEC },
  { label: "7 天", value: 7 * 24 * HOUR_SEC },
  { label: "30 天", value: 30 * 24 * HOUR_SEC },
];

export interface RotateDialogProps {
  readonly token: Token;
  readonly lists: readonly Endpoint[];
  readonly onClose: () => void;
}

export function RotateDialog({ token, lists, onClose }: RotateDialogProps) {
  const [overlap, setOverlap] = useState(24 * HOUR_SEC);
  const rotate = useCall(tokenApi.rotate, { invalidates: [...lists, tokenApi.get] });
  const made = rotate.data;
  if (made !== undefined)
    return (
      <SecretsDialog
        batch={{ name: token.name, secrets: [`sk-${made.key}`] }}
        kind="新密钥"
        extra={<ClientButton token={made} />}
        hint={`${made.old_key_until === 0 ? "旧密钥已失效。" : `旧密钥在 ${formatTime(made.old_key_until)} 之前仍可使用。`}${onceHint(made)}`}
        onClose={onClose}
      />
    );
  return (
    <AskDialog
      title={`轮换令牌“${token.name}”的密钥`}
      width={480}
      okText="生成新密钥"
      isBusy={rotate.isPending}
      onOk={() => rotate.mutate({ params: { id: token.id }, body: { overlap } })}
      onClose={onClose}
    >
      <p>额度、限额与日志都延续到新密钥。请在旧密钥失效之前，把所有客户端换成新密钥。</p>
      {token.old_key_until === 0 ? null : (
        <p>上一次轮换的旧密钥原定 {formatTime(token.old_key_until)} 失效，再次轮换后立即失效。</p>
      )}
      <Form layout="vertical">
        <Form.Item label="现在的密钥继续有效" htmlFor="tg-overlap">
          <Select id="tg-overlap" value={overlap} options={OVERLAPS} onChange={setOverlap} />
        </Form.Item>
      </Form>
    </AskDialog>
  );
}
