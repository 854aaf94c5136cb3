// Where the keyboard is while a popup of antd is open: antd leaves it on the button, and the popup stands at the end of the page.
import { useId, useRef } from "react";

const POPUP = ".ant-popover, .ant-dropdown";

const isInPopup = () => document.activeElement?.closest(POPUP) !== null;

/** Gives the focus back to what opened the popup when it closes from within, unless a dialog has taken it. */
export function useFocusBack(): (isOpen: boolean) => void {
  const opener = useRef<HTMLElement>(null);
  const giveBack = () => {
    if (isInPopup() || document.activeElement === document.body) opener.current?.focus();
  };
  return (isOpen) => {
    const here = document.activeElement;
    if (isOpen) opener.current = here instanceof HTMLElement ? here : null;
    // A moment later, or the Enter that chose something would press the button as well.
    else if (isInPopup()) requestAnimationFrame(giveBack);
  };
}

/** For a popover: the focus goes to the first control of the popup that holds `id`, and back when it closes from within. */
export function usePopoverFocus() {
  const id = useId();
  const onOpenChange = useFocusBack();
  const afterOpenChange = (isOpen: boolean) => {
    const popup = isOpen ? document.getElementById(id)?.closest(POPUP) : null;
    popup?.querySelector<HTMLElement>("button, input")?.focus();
  };
  return { id, on: { onOpenChange, afterOpenChange } };
}
