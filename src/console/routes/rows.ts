// Rows that several pages of one kind have in common.
import type { PageRow } from "#console/ui/shell/nav.ts";

/** The two addresses of a form: for what is new, and for a row. */
export function formPages(
  titles: { readonly add: string; readonly edit: string },
  row: Pick<PageRow, "access" | "permission" | "ofTeam" | "load"> & { readonly parent: string },
): PageRow[] {
  return [
    { ...row, path: `${row.parent}/add`, title: titles.add },
    { ...row, path: `${row.parent}/edit/:id`, title: titles.edit },
  ];
}

/** The limits of one token, and their form. */
export function tokenLimitPages(
  row: Pick<PageRow, "access" | "permission" | "ofTeam"> & { readonly parent: string },
  base: string,
): PageRow[] {
  const load = () => import("#console/pages/limit/token-pages.tsx");
  const loadForm = async () => (await load()).TokenLimitFormPage;
  return [
    { ...row, path: base, title: "令牌限额", load: async () => (await load()).TokenLimitPage },
    { ...row, path: `${base}/add`, title: "添加新的限额", load: loadForm },
    { ...row, path: `${base}/edit/:id`, title: "编辑限额", load: loadForm },
  ];
}
