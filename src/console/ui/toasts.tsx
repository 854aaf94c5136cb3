// Draws toasts: top right, top centre on narrow screens (requirements B9). Loaded with the first toast.
import { App } from "antd";
import { useEffect } from "react";
import { matches, NARROW } from "#console/base/media.ts";
import { takeToasts, useWaitingToasts } from "#console/base/toast.ts";
import { AntdScope } from "./antd-scope.tsx";
import "./toasts.css";

const ICONS = {
  success: "success",
  info: "info",
  error: "error",
  warning: "warning",
  notice: "info",
} as const;

function Presenter() {
  const waiting = useWaitingToasts();
  const { notification: api } = App.useApp();
  useEffect(() => {
    if (waiting.length === 0) return;
    for (const toast of takeToasts()) {
      api.open({
        // The same sentence twice is one toast.
        key: `${toast.kind} ${toast.text}`,
        title: toast.text,
        type: ICONS[toast.kind],
        duration: toast.ms === 0 ? false : toast.ms / 1000,
        placement: matches(NARROW) ? "top" : "topRight",
        role: toast.kind === "error" || toast.kind === "warning" ? "alert" : "status",
        className: "tg-toast",
      });
    }
  }, [waiting, api]);
  return null;
}

export function Toasts() {
  return (
    <AntdScope>
      <Presenter />
    </AntdScope>
  );
}
