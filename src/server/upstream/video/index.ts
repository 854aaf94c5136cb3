// The wires for videos by their names.
import type { VideoWireName } from "#contract/video.ts";
import { ark } from "./ark.ts";
import { dashscope } from "./dashscope.ts";
import { kling } from "./kling.ts";
import { minimax } from "./minimax.ts";
import { openai } from "./openai.ts";
import { veo } from "./veo.ts";
import { vidu } from "./vidu.ts";
import type { VideoWire } from "./wire.ts";

export const videoWires: Readonly<Record<VideoWireName, VideoWire>> = {
  openai,
  ark,
  kling,
  minimax,
  vidu,
  dashscope,
  veo,
};
