import { defined } from '#bundles/defined';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import type { Json } from '#bundles/json/canonical';
import type { ShownChange } from '#bundles/schemas/types/hub-decisions';

export const showChange = (
  {
    agent = null,
    name,
    old,
    new: next,
  }: {
    readonly agent?: string | null | undefined;
    readonly name: string;
    readonly old?: Json | undefined;
    readonly new?: Json | undefined;
  },
  isHidden: IsHidden,
): ShownChange => {
  const shown = (value: Json | undefined): Json | undefined =>
    value !== undefined && isHidden(name) ? WITHHELD : value;
  return { agent, name, ...defined({ old: shown(old), new: shown(next) }) };
};
