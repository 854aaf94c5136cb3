// Prices from a published list: compared into a draft, with the drafts that are kept and the versions that were published.
import { useMay } from "#console/base/session.ts";
import { Page } from "#console/ui/page.tsx";
import { Drafts } from "./drafts.tsx";
import { ListSource } from "./list-source.tsx";
import { Versions } from "./versions.tsx";
import "./price.css";

export function PriceUpdatePage() {
  return (
    <Page title="从价目表更新价格" width="form">
      {useMay("price.draft") ? <ListSource /> : null}
      <Drafts />
      <Versions />
    </Page>
  );
}
