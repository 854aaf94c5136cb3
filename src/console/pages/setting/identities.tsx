// The accounts at login providers that are bound to the user's own account, and those that can be.
import { SafetyCertificateOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { useSignOn } from "#console/base/sign-on.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { type Identity, signOnApi } from "#contract/sign-on.ts";
import { Way } from "./security/way.tsx";

const ICON = <SafetyCertificateOutlined />;

function Bound({ identity }: { readonly identity: Identity }) {
  const { id, name, email, last_login_at } = identity;
  const unbind = useCall(signOnApi.unbind, {
    invalidates: [signOnApi.identities],
    onSuccess: () => toast.success("已解除绑定！"),
  });
  return (
    <Way
      icon={ICON}
      name={name}
      state={`${email === "" ? "已绑定" : email}，最近使用 ${formatTime(last_login_at)}`}
    >
      <ConfirmButton
        loading={unbind.isPending}
        question={`解除 ${name} 的绑定？由它开始的登录会立即失效。`}
        confirmText="解除绑定"
        onConfirm={() => unbind.mutate({ params: { id } })}
      >
        解除绑定
      </ConfirmButton>
    </Way>
  );
}

/** Rows for the list of bindings; none while there is no provider. */
export function Identities() {
  const providers = useStatus()?.oauth_providers ?? [];
  const { data: bound } = useQuery(query(signOnApi.identities, {}));
  const signOn = useSignOn();
  if (bound === undefined) return null;
  const free = providers.filter(({ slug }) => !bound.some((one) => one.slug === slug));
  return (
    <>
      {bound.map((identity) => (
        <Bound key={identity.id} identity={identity} />
      ))}
      {free.map(({ slug, name }) => (
        <Way key={slug} icon={ICON} name={name} state="未绑定">
          <Button loading={signOn.isBusy(slug)} onClick={() => signOn.go(slug)}>
            绑定 {name}
          </Button>
        </Way>
      ))}
    </>
  );
}
