// The API reference as one page of Markdown, for reading in the repository. Printed from the same document as /api/docs.
import { type ApiTable, type JsonObject, type JsonValue, printOpenApi } from "./openapi.ts";

/** Prints the page. */
export function printApiPage(table: ApiTable): string {
  const document = printOpenApi(table, "");
  const { info, tags, paths } = document;
  const lines = [
    `# ${textOf(info, "title")}`,
    "",
    "<!-- Printed from src/contract by `npx vitest run src/contract/openapi.test.ts -u`; do not edit. -->",
    "",
    textOf(info, "description").replaceAll("\n", "\n\n"),
    "",
  ];
  for (const tag of listOf(tags)) {
    const name = textOf(tag, "name");
    lines.push(
      `## ${name}`,
      "",
      "| 方法 | 路径 | 说明 | 权限 | 查询参数 | 请求体字段 |",
      "|---|---|---|---|---|---|",
    );
    lines.push(...rowsOf(paths ?? {}, name), "");
  }
  return lines.join("\n");
}

function rowsOf(paths: JsonValue, tag: string): string[] {
  return Object.entries(recordOf(paths)).flatMap(([path, operations]) =>
    Object.entries(recordOf(operations)).flatMap(([method, operation]) => {
      if (!listOf(recordOf(operation)["tags"]).includes(tag)) return [];
      const cells = [
        method.toUpperCase(),
        `\`${path}\``,
        textOf(operation, "summary"),
        textOf(operation, "description"),
        listOf(recordOf(operation)["parameters"])
          .filter((parameter) => textOf(parameter, "in") === "query")
          .map((parameter) => `\`${textOf(parameter, "name")}\``)
          .join(" "),
        bodyFields(recordOf(operation)["requestBody"]),
      ];
      return [`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`];
    }),
  );
}

/** Names of the fields, required ones with a star. */
function bodyFields(body: JsonValue | undefined): string {
  const schema = recordOf(recordOf(recordOf(recordOf(body)["content"])["application/json"])["schema"]);
  const required = listOf(schema["required"]);
  return Object.keys(recordOf(schema["properties"]))
    .map((name) => `\`${name}\`${required.includes(name) ? "*" : ""}`)
    .join(" ");
}

function recordOf(value: JsonValue | undefined): JsonObject {
  // An object that is no list is a record.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: JsonValue | undefined, name: string): string {
  const text = recordOf(value)[name];
  return typeof text === "string" ? text : "";
}
