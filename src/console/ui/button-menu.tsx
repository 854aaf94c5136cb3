// A menu under a button, for the keyboard as well: the focus goes into it, and back to the button when it closes.
import { Dropdown, type MenuProps } from "antd";
import type { ReactNode } from "react";
import { useFocusBack } from "./popup-focus.ts";

export interface ButtonMenuProps {
  readonly menu: MenuProps;
  readonly disabled?: boolean;
  /** The button. */
  readonly children: ReactNode;
}

export function ButtonMenu({ menu, disabled = false, children }: ButtonMenuProps) {
  return (
    <Dropdown
      menu={menu}
      disabled={disabled}
      trigger={["click"]}
      placement="bottomRight"
      autoFocus
      onOpenChange={useFocusBack()}
    >
      {children}
    </Dropdown>
  );
}
