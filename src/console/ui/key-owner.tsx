// From a key that has leaked to its token and owner, for administrators: shown, and disabled in place. The key goes
// in a body: it is in no address and no storage, and forgotten with the dialog.
import { useQuery } from "@tanstack/react-query";
import { Button, Space } from "antd";
import { useNavigate } from "react-router";
import { call, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { toast } from "#console/base/toast.ts";
import { keySearchApi } from "#contract/key-search.ts";
import { TokenStatus } from "#contract/token.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { Callout } from "./callout.tsx";
import { ConfirmButton } from "./confirm-button.tsx";
import { Facts } from "./facts.tsx";
import { StatusTag } from "./status-tag.tsx";
import { QuotaText, TimeText } from "./value-text.tsx";

/** Whether a text is a key as clients send it: then it is no name to search for. */
export function isKey(text: string): boolean {
  return /^(Bearer )?sk-[A-Za-z0-9]{20,}/.test(text.trim());
}

const STATES: Readonly<Record<number, { tone: "good" | "idle" | "warn" | "bad"; label: string }>> = {
  [TokenStatus.enabled]: { tone: "good", label: "已启用" },
  [TokenStatus.disabled]: { tone: "idle", label: "已禁用" },
  [TokenStatus.expired]: { tone: "warn", label: "已过期" },
  [TokenStatus.exhausted]: { tone: "bad", label: "已耗尽" },
};

export interface KeyOwnerProps {
  readonly text: string;
  /** The owner's page is being opened. */
  readonly onLeave: () => void;
}

export function KeyOwner({ text, onLeave }: KeyOwnerProps) {
  const navigate = useNavigate();
  const find = useQuery({
    queryKey: ["key-owner", text],
    queryFn: () => call(keySearchApi.find, { body: { key: text } }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    meta: { silent: true },
  });
  const disable = useCall(keySearchApi.disable, {
    invalidates: [userAdminApi.list],
    onSuccess: () => toast.success("令牌已禁用"),
  });
  if (find.error !== null) return <Callout tone="warn">{faultText(find.error)}</Callout>;
  const owner = find.data;
  if (owner === undefined) return <p className="tg-muted tg-palette-none">正在查找…</p>;
  const status = disable.isSuccess ? TokenStatus.disabled : owner.token_status;
  const state = STATES[status] ?? { tone: "idle" as const, label: String(status) };
  return (
    <section className="tg-key-owner" aria-label="密钥的主人">
      <Facts
        facts={[
          ["密钥", <code key="key">{owner.masked_key}</code>],
          ["用户", `${owner.username}（ID ${owner.user_id}，${owner.user_group}）`],
          ["令牌", owner.token_name],
          ["状态", <StatusTag key="state" {...state} />],
          [
            "剩余额度",
            owner.unlimited_quota ? "无限制" : <QuotaText key="left" quota={owner.remain_quota} />,
          ],
          ["最近使用", <TimeText key="used" seconds={owner.accessed_time} />],
        ]}
      />
      <Space wrap>
        <ConfirmButton
          danger
          type="primary"
          disabled={status === TokenStatus.disabled}
          loading={disable.isPending}
          question={`禁用 ${owner.username} 的令牌“${owner.token_name}”？使用它的程序会立即收到 401。`}
          confirmText="确认禁用"
          onConfirm={() => disable.mutate({ body: { id: owner.token_id } })}
        >
          禁用令牌
        </ConfirmButton>
        <Button
          onClick={() => {
            onLeave();
            void navigate(`/user/edit/${owner.user_id}`);
          }}
        >
          打开用户
        </Button>
      </Space>
    </section>
  );
}
