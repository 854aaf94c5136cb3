// Ends all sessions of a user: what an administrator does when a device is lost or an account is misused.
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { sessionApi } from "#contract/factor.ts";
import type { User } from "#contract/user.ts";

export function SessionsEnd({ user }: { readonly user: User }) {
  const end = useCall(sessionApi.end, {
    onSuccess: (count) =>
      toast.success(count === 0 ? "该用户没有登录会话" : `已结束 ${count} 个登录会话，该用户须重新登录！`),
  });
  return (
    <Section title="登录会话" lead="结束该用户在所有设备上的登录；令牌与系统访问令牌不受影响。">
      <ConfirmButton
        danger
        loading={end.isPending}
        question={`结束“${user.username}”的所有登录会话？`}
        confirmText="确认结束"
        onConfirm={() => end.mutate({ body: { id: "", user_id: user.id } })}
      >
        结束所有会话
      </ConfirmButton>
    </Section>
  );
}
