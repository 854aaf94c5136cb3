// What a browser calls itself, as people know it: `Chrome · Windows`. Anything may be sent, so nothing of it is passed on. Pure.

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/MicroMessenger\//, "微信"],
  [/DingTalk\//, "钉钉"],
  [/(Lark|Feishu)\//, "飞书"],
  [/Edg(e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/(Firefox|FxiOS)\//, "Firefox"],
  [/(Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/Version\/.*Safari\//, "Safari"],
  [/curl\//, "curl"],
  [/python-requests|aiohttp|httpx/, "Python"],
  [/node|undici|axios/i, "Node.js"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/OpenHarmony|HarmonyOS/, "HarmonyOS"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux|X11/, "Linux"],
];

/** Browser and system; what is not known has no name. */
export function describeAgent(agent: string): string {
  const text = agent.slice(0, 200);
  const find = (table: typeof BROWSERS) => table.find(([pattern]) => pattern.test(text))?.[1];
  return [find(BROWSERS), find(SYSTEMS)].filter((part) => part !== undefined).join(" · ") || "未知浏览器";
}
