// Looks at the console as a user of lower rank does: read only, and told in the audit log (requirements Z24).
import { EyeOutlined } from "@ant-design/icons";
import { useCall } from "#console/base/call.ts";
import { beginAnew } from "#console/ui/begin-anew.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { Section } from "#console/ui/section.tsx";
import type { User } from "#contract/user.ts";
import { viewApi } from "#contract/view-as.ts";

export function ViewAs({ user }: { readonly user: User }) {
  // All windows of this browser show the user's console then.
  const view = useCall(viewApi.start, { onSuccess: () => void beginAnew("/dashboard") });
  return (
    <Section
      title="以该用户的身份查看"
      lead="看到对方看到的控制台：只读，不显示密钥，最多 30 分钟，开始与结束记入审计。"
    >
      <ConfirmButton
        icon={<EyeOutlined aria-hidden="true" />}
        loading={view.isPending}
        question={`以“${user.username}”的身份查看？本浏览器的所有窗口都会切换。`}
        confirmText="开始查看"
        onConfirm={() => view.mutate({ params: { id: user.id } })}
      >
        以其身份查看
      </ConfirmButton>
    </Section>
  );
}
