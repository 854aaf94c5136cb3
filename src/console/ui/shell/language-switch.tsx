// Switches to the console's other language, named as its own readers name it.
import { OTHER_LANGUAGE, OTHER_NAME, OTHER_SHORT } from "#console/base/language.ts";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { useLanguageChoice } from "./language-choice.ts";

export function LanguageSwitch() {
  const language = useLanguageChoice();
  return (
    <PlainButton
      kind="text"
      // What is seen is a part of the name, so that it can be spoken.
      aria-label={`${OTHER_SHORT} ${OTHER_NAME}`}
      title={OTHER_NAME}
      lang={OTHER_LANGUAGE === "en" ? "en" : "zh-CN"}
      onClick={language.choose}
    >
      {OTHER_SHORT}
    </PlainButton>
  );
}
