// The choice of the console's other language: kept with the account, where there is one, and in the browser.
import { useCall } from "#console/base/call.ts";
import { chooseLanguage, OTHER_LANGUAGE } from "#console/base/language.ts";
import { useUser } from "#console/base/session.ts";
import { userApi } from "#contract/user.ts";

export function useLanguageChoice(): { readonly choose: () => void } {
  const user = useUser();
  const done = () => chooseLanguage(OTHER_LANGUAGE);
  // Other servers of the family do not know the field; the browser keeps the choice all the same.
  const save = useCall(userApi.updateSelf, { onSuccess: done });
  return {
    choose: () => (user === undefined ? done() : save.mutate({ body: { language: OTHER_LANGUAGE } })),
  };
}
