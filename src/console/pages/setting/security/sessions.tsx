// Where the own account is signed in: end one session, or all others.
import { DesktopOutlined, MobileOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { TimeText } from "#console/ui/value-text.tsx";
import { type SessionInfo, sessionApi } from "#contract/factor.ts";

const METHODS: Readonly<Record<string, string>> = {
  password: "密码",
  totp: "密码与验证码",
  passkey: "通行密钥",
  recovery: "恢复码",
  github: "GitHub",
  wechat: "微信",
};

function SessionRow({
  session,
  onEnd,
  isBusy,
}: {
  readonly session: SessionInfo;
  readonly onEnd: () => void;
  readonly isBusy: boolean;
}) {
  const isPhone = /iOS|Android|HarmonyOS/.test(session.agent);
  const way = METHODS[session.method] ?? session.method;
  return (
    <li className="tg-way">
      <span className="tg-way-icon" aria-hidden="true">
        {isPhone ? <MobileOutlined /> : <DesktopOutlined />}
      </span>
      <span className="tg-way-words">
        <strong>
          {session.agent || "未知浏览器"}{" "}
          {session.is_current ? <StatusTag tone="good" label="本次登录" /> : null}
        </strong>
        <span className="tg-muted">
          {[session.address, way === "" ? "" : `${way}登录`].filter((part) => part !== "").join(" · ")}
        </span>
        <span className="tg-muted">
          最近使用 <TimeText seconds={session.last_seen} />
        </span>
      </span>
      {session.is_current ? null : (
        <ConfirmButton
          aria-label={`结束 ${session.agent || "未知浏览器"} 的会话`}
          loading={isBusy}
          question="结束后那里需要重新登录，确定吗？"
          confirmText="确认结束"
          onConfirm={onEnd}
        >
          结束
        </ConfirmButton>
      )}
    </li>
  );
}

export function Sessions() {
  const sessions = useQuery({ ...query(sessionApi.list, {}), meta: { silent: true } });
  const end = useCall(sessionApi.end, {
    invalidates: [sessionApi.list],
    onSuccess: (count) => toast.success(`已结束 ${count} 个会话！`),
  });
  const rows = sessions.data ?? [];
  const asked = end.isPending ? end.variables?.body.id : undefined;
  return (
    <section className="tg-card tg-section">
      <h2>登录会话</h2>
      <p>不认识的会话请立即结束，并修改密码。结束会话同时取消对那个浏览器的信任。</p>
      {sessions.data === undefined ? (
        <FormState error={sessions.error} onRetry={() => void sessions.refetch()} />
      ) : (
        <ul className="tg-ways">
          {rows.map((session) => (
            <SessionRow
              key={session.id}
              session={session}
              isBusy={asked === session.id}
              onEnd={() => end.mutate({ body: { id: session.id, user_id: 0 } })}
            />
          ))}
        </ul>
      )}
      {rows.length > 1 ? (
        <div className="tg-session-all">
          <ConfirmButton
            danger
            loading={asked === ""}
            question="结束本次登录以外的全部会话？"
            confirmText="确认结束"
            onConfirm={() => end.mutate({ body: { id: "", user_id: 0 } })}
          >
            结束其他全部会话
          </ConfirmButton>
        </div>
      ) : null}
    </section>
  );
}
