// The actions that rows of many lists have: named, drawn and asked alike. `{ ...editAction(open), isDisabled }` narrows one.
import {
  CopyOutlined,
  DeleteOutlined,
  EditOutlined,
  FileSearchOutlined,
  PlusOutlined,
  PoweroffOutlined,
} from "@ant-design/icons";
import { may, useUser } from "#console/base/session.ts";
import type { Permission } from "#contract/permission.ts";
import { LinkButton } from "./plain-button.tsx";
import type { RowAction } from "./row-view.ts";

type Act = RowAction["onClick"];

export function toggleAction(isEnabled: boolean, onClick: Act): RowAction {
  const icon = <PoweroffOutlined aria-hidden="true" />;
  return { key: "toggle", label: isEnabled ? "禁用" : "启用", icon, onClick };
}

export function editAction(onClick: Act): RowAction {
  return { key: "edit", label: "编辑", icon: <EditOutlined aria-hidden="true" />, onClick };
}

export function copyAction(onClick: Act): RowAction {
  return { key: "copy", label: "复制", icon: <CopyOutlined aria-hidden="true" />, onClick };
}

export function logAction(onClick: Act): RowAction {
  return { key: "log", label: "日志", icon: <FileSearchOutlined aria-hidden="true" />, onClick };
}

/** Asks `question` first; without one the page asks by itself. */
export function deleteAction(onClick: Act, question?: string): RowAction {
  const icon = <DeleteOutlined aria-hidden="true" />;
  const asked = question === undefined ? {} : { question, confirmText: "确认删除" };
  return { key: "delete", label: "删除", icon, isDanger: true, onClick, ...asked };
}

export interface AddLinkProps {
  readonly to: string;
  readonly text: string;
  /** Of administrators: nothing stands there for those who lack it. */
  readonly permission?: Permission;
}

/** The way to the form of a new row, above the list and where it is empty. */
export function AddLink({ to, text, permission }: AddLinkProps) {
  const user = useUser();
  if (permission !== undefined && !may(user, permission)) return null;
  return (
    <LinkButton to={to} kind="primary" icon={<PlusOutlined aria-hidden="true" />}>
      {text}
    </LinkButton>
  );
}
