// What a visitor sees whose page the limit of pages refused: why, and the page itself as soon as it may be asked for again. Pure.

/** The longest that a page waits before it asks again, whatever the limit says. Unit: seconds. */
const LONGEST_SEC = 60;

/** Whether a request asks for a page, as browsers do when a visitor goes there. */
export function asksForPage(header: (name: string) => string | undefined): boolean {
  const { dest, accept } = { dest: header("sec-fetch-dest"), accept: header("accept") ?? "" };
  return dest === undefined ? accept.includes("text/html") : dest === "document" || dest === "iframe";
}

/** The page; it needs no script and no other file. */
export function waitPage(waitSec: number): string {
  const againSec = Math.min(Math.max(1, waitSec), LONGEST_SEC);
  return `<!doctype html>
<html lang="zh-CN">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${againSec}">
<title>请稍候</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px; box-sizing: border-box;
  font: 16px/1.6 system-ui, "PingFang SC", "Microsoft YaHei", sans-serif; background: #f5f7f8; color: #1b2429; }
main { max-width: 26em; }
h1 { font-size: 22px; line-height: 1.3; margin: 0 0 8px; }
p { margin: 0 0 8px; color: #4b5a62; }
a { color: #0b6b57; }
@media (prefers-color-scheme: dark) {
  body { background: #12181b; color: #e8eef1; }
  p { color: #a9b7be; }
  a { color: #5fd0b3; }
}
</style>
</head>
<body>
<main>
<h1>访问过于频繁</h1>
<p>短时间内打开的页面太多，服务器暂时不再响应来自您网络的请求。</p>
<p>本页将在 ${againSec} 秒后自动重试，也可以<a href="">现在重试</a>。</p>
</main>
</body>
</html>
`;
}
