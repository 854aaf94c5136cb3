// The command palette (Ctrl/⌘ K): jumps to pages, and to tokens, channels and users by search.
import { SearchOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Input, Modal } from "antd";
import { type KeyboardEvent, useDeferredValue, useState } from "react";
import { useNavigate } from "react-router";
import { query } from "#console/base/call.ts";
import { may, mayOpen, useMay, useUser } from "#console/base/session.ts";
import { isKey, KeyOwner } from "#console/ui/key-owner.tsx";
import { channelApi } from "#contract/channel.ts";
import { tokenApi } from "#contract/token.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { usePages } from "./nav.ts";
import "./palette.css";

interface Target {
  readonly id: string;
  readonly kind: "页面" | "令牌" | "渠道" | "用户";
  readonly label: string;
  readonly path: string;
}

const FOUND = { p: 0, size: 6 } as const;

function usePageTargets(text: string): Target[] {
  const user = useUser();
  return usePages()
    .filter((page) => !page.path.includes(":") && mayOpen(page, user))
    .filter((page) =>
      `${page.title}${page.menu?.label ?? ""}${page.path}`.toLowerCase().includes(text.toLowerCase()),
    )
    .map((page) => ({ id: page.path, kind: "页面", label: page.title, path: page.path }));
}

function useFoundTargets(keyword: string): Target[] {
  const user = useUser();
  const input = { query: { ...FOUND, keyword } };
  const asked = (isAllowed: boolean) => {
    return { meta: { silent: true }, staleTime: 10_000, enabled: keyword !== "" && isAllowed };
  };
  const tokens = useQuery({ ...query(tokenApi.search, input), ...asked(true) });
  const channels = useQuery({ ...query(channelApi.search, input), ...asked(may(user, "channel.read")) });
  const users = useQuery({ ...query(userAdminApi.search, input), ...asked(may(user, "user.read")) });
  const target = (kind: Target["kind"], place: string, id: number, label: string): Target => {
    return { id: `${place}-${id}`, kind, label, path: `/${place}/edit/${id}` };
  };
  return [
    ...(tokens.data?.data ?? []).map(({ id, name }) => target("令牌", "token", id, name)),
    ...(channels.data?.data ?? []).map(({ id, name }) => target("渠道", "channel", id, name)),
    ...(users.data?.data ?? []).map(({ id, username }) => target("用户", "user", id, username)),
  ];
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  // Pages follow every letter, so that Enter means what was typed; the server is asked a moment later.
  const isLeak = isKey(text);
  // A key is no name: it goes into no search, whose words stand in an address.
  const words = isLeak ? "" : text.trim();
  const pages = usePageTargets(words);
  const found = useFoundTargets(useDeferredValue(words));
  const targets = isLeak ? [] : [...pages, ...found];
  const mayFindKeys = useMay("user.read");
  const isOwnerShown = isLeak && mayFindKeys;
  const active = Math.min(at, targets.length - 1);
  const go = (target: Target | undefined) => {
    if (target === undefined) return;
    onClose();
    void navigate(target.path);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((active + step + targets.length) % Math.max(1, targets.length));
    }
    if (event.key === "Enter" && !event.nativeEvent.isComposing) go(targets[active]);
  };
  return (
    <Modal
      open
      onCancel={onClose}
      footer={null}
      closable={false}
      // Names the dialog for screen readers; the field below shows the same.
      title="跳转或搜索"
      styles={{ header: { display: "none" } }}
      width={560}
      style={{ top: 96 }}
      className="tg-palette"
    >
      <Input
        autoFocus
        variant="borderless"
        prefix={<SearchOutlined aria-hidden="true" />}
        size="large"
        value={text}
        placeholder={
          mayFindKeys
            ? "页面、令牌、渠道或用户的名称，或完整的 sk-… 密钥"
            : "输入页面、令牌、渠道或用户的名称"
        }
        aria-label="跳转或搜索"
        role="combobox"
        aria-expanded
        aria-controls="tg-palette-list"
        aria-activedescendant={targets[active]?.id}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div id="tg-palette-list" role="listbox" aria-label="结果" className="tg-palette-list">
        {targets.map((target, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard is handled by the input that owns this list
          <div
            key={target.id}
            id={target.id}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            className="tg-palette-item"
            onMouseMove={() => setAt(index)}
            onClick={() => go(target)}
          >
            <span className="tg-clip">{target.label}</span>
            <span className="tg-muted">{target.kind}</span>
          </div>
        ))}
      </div>
      {isOwnerShown ? <KeyOwner key={text.trim()} text={text.trim()} onLeave={onClose} /> : null}
      <p role="status" className="tg-muted tg-palette-none">
        {targets.length === 0 && !isOwnerShown ? "没有找到相关内容" : null}
      </p>
    </Modal>
  );
}
