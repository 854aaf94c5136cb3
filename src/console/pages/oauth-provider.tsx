// Where a login provider sends the browser back: logs in, or binds when a user is signed in. The answer counts once, so nothing is repeated.
import { LoadingOutlined } from "@ant-design/icons";
import { useEffect, useRef, useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { call } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { enter as enterHere } from "#console/base/login.ts";
import { readStored } from "#console/base/storage.ts";
import { toast } from "#console/base/toast.ts";
import { takeOrigin } from "#console/base/trip.ts";
import { Callout } from "#console/ui/callout.tsx";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { signOnApi } from "#contract/sign-on.ts";
import "./oauth-github.css";

/** Runs the callback once; returns why it failed. */
function useCallback(slug: string, search: URLSearchParams): string | undefined {
  const navigate = useNavigate();
  const [fault, setFault] = useState<string>();
  const isStarted = useRef(false);
  useEffect(() => {
    // A state counts once: effects that run twice in development must not send it twice.
    if (isStarted.current) return;
    isStarted.current = true;
    const told = (name: string) => search.get(name) ?? "";
    const query = {
      // 钉钉 has a name of its own for it.
      code: told("code") || told("authCode"),
      state: told("state"),
      iss: told("iss"),
      error: told("error"),
      aff_code: readStored("aff") ?? "",
    };
    const run = async () => {
      const { data, message } = await call(signOnApi.finish, { params: { slug }, query });
      if (message === "bind") {
        toast.success("绑定成功！");
        await navigate("/setting", { replace: true });
        return;
      }
      const origin = takeOrigin();
      const from = origin && { pathname: origin, search: "", hash: "" };
      if (data !== null && !enterHere(navigate, data, from)) return;
      toast.success("登录成功！");
      await navigate(origin ?? "/token", { replace: true });
    };
    run().catch((error: unknown) => setFault(faultText(error)));
  }, [slug, search, navigate]);
  return fault;
}

export function OAuthProviderPage() {
  const { slug = "" } = useParams();
  const [search] = useSearchParams();
  const fault = useCallback(slug, search);
  return (
    <GuestFrame title="登录" isCentred>
      <div className="tg-oauth" role="status">
        {fault === undefined ? (
          <>
            <LoadingOutlined aria-hidden="true" />
            <p>处理中…</p>
          </>
        ) : (
          <>
            <Callout tone="bad">{fault}</Callout>
            <LinkButton to="/login" replace>
              返回登录
            </LinkButton>
          </>
        )}
      </div>
    </GuestFrame>
  );
}
