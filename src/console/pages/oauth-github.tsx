// Where GitHub sends the browser back: logs in, or binds when a user is signed in; tries again before it gives up (requirements B4).
import { LoadingOutlined } from "@ant-design/icons";
import { useEffect, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { call } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { enter as enterHere } from "#console/base/login.ts";
import { callbackSchedule, withRetries } from "#console/base/retry.ts";
import { readStored } from "#console/base/storage.ts";
import { toast } from "#console/base/toast.ts";
import { takeOrigin } from "#console/base/trip.ts";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { oauthApi } from "#contract/oauth.ts";
import "./oauth-github.css";

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Callback {
  readonly code: string;
  readonly state: string;
}

function enter({ code, state }: Callback) {
  return call(oauthApi.github, { query: { code, state, aff_code: readStored("aff") ?? "" } });
}

/** What is shown between failures: the first one already says where this will end (requirements B4). */
function promptAfter(attempt: number | undefined): string {
  if (attempt === undefined || attempt === 1) return "操作失败，重定向中…";
  return `出现错误，第 ${attempt} 次重试中…`;
}

/** Runs the callback once; returns what to tell meanwhile. */
function useGithubCallback(callback: Callback): string {
  const navigate = useNavigate();
  const [prompt, setPrompt] = useState("处理中…");
  const isStarted = useRef(false);
  const { code, state } = callback;
  useEffect(() => {
    // A state counts once: effects that run twice in development must not send it twice.
    if (isStarted.current) return;
    isStarted.current = true;
    const run = async () => {
      const done = await withRetries(() => enter({ code, state }), callbackSchedule, {
        sleep,
        onFailure: (error, attempt) => {
          toast.error(faultText(error));
          setPrompt(promptAfter(attempt));
        },
      });
      if (done === undefined || done.result.message === "bind") {
        if (done !== undefined) toast.success("绑定成功！");
        await navigate("/setting", { replace: true });
        return;
      }
      const origin = takeOrigin();
      if (
        done.result.data !== null &&
        !enterHere(navigate, done.result.data, origin && { pathname: origin, search: "", hash: "" })
      )
        return;
      toast.success("登录成功！");
      await navigate(origin ?? "/token", { replace: true });
    };
    void run();
  }, [code, state, navigate]);
  return prompt;
}

export function OAuthGithubPage() {
  const [params] = useSearchParams();
  const prompt = useGithubCallback({ code: params.get("code") ?? "", state: params.get("state") ?? "" });
  return (
    <GuestFrame title="GitHub 登录" isCentred>
      <div className="tg-oauth" role="status">
        <LoadingOutlined aria-hidden="true" />
        <p>{prompt}</p>
      </div>
    </GuestFrame>
  );
}
