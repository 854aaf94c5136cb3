// antd's tooltip with the spec's delays: 50 ms to open, 70 ms to close (requirements B9). It opens for the keyboard as well.
import { Tooltip as AntdTooltip, type TooltipProps } from "antd";

const DELAYS_S = { mouseEnterDelay: 0.05, mouseLeaveDelay: 0.07 } as const;
const WAYS: NonNullable<TooltipProps["trigger"]> = ["hover", "focus"];

export function Tooltip(props: TooltipProps) {
  return <AntdTooltip {...DELAYS_S} trigger={WAYS} {...props} />;
}
