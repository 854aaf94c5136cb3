// Rerank on a dialect's own wire: a query and texts in, their order out. The client speaks Jina's format (vendors/rerank).
import type { Ranked, RerankRequest } from "#server/upstream/dialects/dialect.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asNumber, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";

const READ: ReadonlySet<string> = new Set(["model", "query", "documents", "top_n", "return_documents"]);

/** Reads a rerank body. Throws: Unmappable for documents that are no texts. */
export function rerankRequest(
  body: JsonRecord,
  model: string,
): { readonly request: RerankRequest; readonly dropped: readonly string[] } {
  const documents = asList(body["documents"]).map((item) => {
    const text = asText(item) ?? asText(asObject(item)?.["text"]);
    if (text === undefined) throw new Unmappable("documents", "该渠道只支持文本");
    return text;
  });
  const request = {
    model,
    query: asText(body["query"]) ?? "",
    documents,
    top: asNumber(body["top_n"]),
    returnsDocuments: body["return_documents"] === true,
  };
  return { request, dropped: Object.keys(body).filter((name) => !READ.has(name)) };
}

/** The results in Jina's format. */
export function rerankList(
  { results, usage }: Ranked,
  { documents, returnsDocuments }: RerankRequest,
  model: string,
): JsonRecord {
  return {
    model,
    results: results.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(returnsDocuments && { document: { text: documents[index] ?? "" } }),
    })),
    usage: usage ?? { total_tokens: 0 },
  };
}
