// Waits until the server wants the owner's proof, then loads the dialog that asks for it.
import { type ComponentType, useEffect, useState } from "react";
import { useQuestion } from "#console/base/proof.ts";

type Dialog = ComponentType<{ readonly onEnd: (isProven: boolean) => void }>;

async function loadDialog(): Promise<Dialog> {
  return (await import("./proof-dialog.tsx")).ProofDialog;
}

export function ProofHost() {
  const question = useQuestion();
  const [loaded, setLoaded] = useState<{ readonly Dialog: Dialog }>();
  const isWanted = question !== undefined;
  useEffect(() => {
    // Without it nothing can be proved: the calls end as if the owner had closed it.
    if (isWanted && !loaded)
      loadDialog().then(
        (Dialog) => setLoaded({ Dialog }),
        () => question.answer(false),
      );
  }, [isWanted, loaded, question]);
  return question && loaded ? <loaded.Dialog onEnd={question.answer} /> : null;
}
