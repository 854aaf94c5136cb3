// Switches to the console's other language, named as its own readers name it.
import { OTHER_LANGUAGE, OTHER_NAME, OTHER_SHORT } from "#console/base/language.ts";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { useLanguageChoice } from "./language-choice.ts";

export function LanguageSwitch() {
  const language = useLanguageChoice();
  return (
    <PlainButton
      kind="text"
      aria-label={OTHER_NAME}
      title={OTHER_NAME}
      lang={OTHER_LANGUAGE === "en" ? "en" : "zh-CN"}
      onClick={language.choose}
    >
      {OTHER_SHORT}
    </PlainButton>
  );
}
