// Draws the API reference from /api/openapi.json. Text goes in as text: nothing here is ever read as HTML.

const isEnglish = document.documentElement.lang === "en";
/** A text in the language of the page. */
const say = (chinese, english) => (isEnglish ? english : chinese);

/** Makes an element with attributes and children; texts become text nodes. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function find(id) {
  return document.getElementById(id);
}

/** The type of a schema in a few words. */
function typeOf(schema) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map(typeOf).join(" | ");
  if (schema.type === "array") return `${typeOf(schema.items ?? {})}[]`;
  if (Array.isArray(schema.type)) return schema.type.join(" | ");
  return schema.type ?? say("任意", "any");
}

/** Bounds and defaults. */
function rulesOf(schema) {
  const rules = [
    ["minimum", say("最小", "min")],
    ["maximum", say("最大", "max")],
    ["minLength", say("最短", "min length")],
    ["maxLength", say("最长", "max length")],
    ["minItems", say("最少", "min items")],
    ["maxItems", say("最多", "max items")],
    ["default", say("默认", "default")],
  ];
  return rules
    .filter(([name]) => schema[name] !== undefined)
    .map(([name, label]) => `${label} ${JSON.stringify(schema[name])}`)
    .join("，");
}

/** The fields of a schema as rows, inner ones after their parent. */
function fieldsOf(schema, prefix = "") {
  const record = schema.type === "array" ? (schema.items ?? {}) : schema;
  return Object.entries(record.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix + name;
    const isRequired = (record.required ?? []).includes(name);
    const inner = fieldsOf(field, `${path}${field.type === "array" ? "[]" : ""}.`);
    return [{ path, type: typeOf(field), isRequired, rules: rulesOf(field) }, ...inner];
  });
}

function table(rows) {
  const head = make(
    "tr",
    {},
    ...[say("名称", "Name"), say("类型", "Type"), say("必有", "Required"), say("限制", "Limits")].map(
      (text) => make("th", { scope: "col" }, text),
    ),
  );
  const body = rows.map(({ path, type, isRequired, rules }) =>
    make(
      "tr",
      {},
      make("td", {}, make("code", {}, path)),
      make("td", {}, make("code", {}, type)),
      make("td", {}, isRequired ? say("是", "yes") : ""),
      make("td", {}, rules),
    ),
  );
  return make(
    "div",
    { class: "scroll" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
  );
}

function section(title, rows) {
  return rows.length === 0 ? [] : [make("h3", {}, title), table(rows)];
}

/** A value that fits a schema, for the example. */
function sampleOf(schema) {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return sampleOf(options[0]);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object") {
    const required = schema.required ?? [];
    const fields = Object.entries(schema.properties ?? {}).filter(([name]) => required.includes(name));
    return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(field)]));
  }
  return { string: "", integer: 1, number: 1, boolean: true, array: [], null: null }[type] ?? null;
}

/** The call as a command line. */
function exampleOf(method, path, operation) {
  const lines = [`curl -X ${method.toUpperCase()} '${location.origin}${path}'`];
  if (operation.security?.length)
    lines.push(`  -H 'Authorization: <${say("系统访问令牌", "access token")}>'`);
  const schema = operation.requestBody?.content["application/json"].schema;
  if (schema) {
    lines.push("  -H 'Content-Type: application/json'");
    lines.push(`  -d '${JSON.stringify(sampleOf(schema))}'`);
  }
  return lines.join(" \\\n");
}

function draw(method, path, operation) {
  const parameters = (operation.parameters ?? []).map(({ name, in: place, required, schema }) => ({
    path: `${name} (${place === "path" ? say("路径", "path") : say("查询", "query")})`,
    type: typeOf(schema),
    isRequired: required === true,
    rules: rulesOf(schema),
  }));
  const body = operation.requestBody?.content["application/json"].schema;
  const answer = operation.responses["200"].content["application/json"].schema.oneOf[0];
  const inner = make(
    "div",
    { class: "inner" },
    make("p", { class: "level" }, operation.description),
    ...section(say("参数", "Parameters"), parameters),
    ...(body ? section(say("请求体", "Request body"), fieldsOf(body)) : []),
    ...section(say("应答", "Answer"), fieldsOf(answer)),
    make("h3", {}, say("示例", "Example")),
    make("pre", {}, make("code", {}, exampleOf(method, path, operation))),
  );
  const summary = make(
    "summary",
    {},
    make("span", { class: `method ${method}` }, method.toUpperCase()),
    make("span", { class: "path" }, path),
    make("span", { class: "says" }, operation.summary),
  );
  const element = make("details", { id: operation.operationId }, summary, inner);
  element.dataset.text = `${method} ${path} ${operation.summary}`.toLowerCase();
  return element;
}

function drawAll(reference) {
  const { info, tags, paths } = reference;
  document.title = info.title;
  find("title").textContent = `${info.title} ${info.version}`;
  const operations = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ method, path, operation })),
  );
  const parts = tags.map(({ name }, index) => {
    const id = `part-${index}`;
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    find("parts").append(make("a", { href: `#${id}` }, name));
    const drawn = own.map(({ method, path, operation }) => draw(method, path, operation));
    return make("section", {}, make("h2", { id }, name), ...drawn);
  });
  find("operations").replaceChildren(make("p", { class: "about" }, info.description), ...parts);
}

/** Hides what does not hold every word of the filter. */
function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const part of document.querySelectorAll("section")) {
    let shown = 0;
    for (const element of part.querySelectorAll("details")) {
      const isShown = words.every((word) => element.dataset.text.includes(word));
      element.hidden = !isShown;
      shown += Number(isShown);
    }
    part.hidden = shown === 0;
  }
}

/** Opens what the address names. */
function openNamed() {
  const element = find(decodeURIComponent(location.hash.slice(1)));
  if (element instanceof HTMLDetailsElement) {
    element.open = true;
    element.scrollIntoView();
  }
}

try {
  // biome-ignore lint/style/noRestrictedGlobals: this runs in the browser.
  const response = await fetch("/api/openapi.json");
  if (!response.ok) throw new Error(`${say("状态码", "status")} ${response.status}`);
  drawAll(await response.json());
  find("filter").addEventListener("input", (event) => filter(event.target.value));
  addEventListener("hashchange", openNamed);
  openNamed();
} catch (error) {
  find("operations").replaceChildren(
    make(
      "p",
      { role: "alert" },
      `${say("无法加载接口文档：", "Cannot load the API reference: ")}${error.message}`,
    ),
  );
}
