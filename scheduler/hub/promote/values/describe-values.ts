import { defined } from '#bundles/defined';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import type { Json } from '#bundles/json/canonical';
import type { ShownChange } from '#bundles/schemas/types/hub-decisions';
import type { KnownNeeds, Needs } from '../../sites/check-values.ts';

/** Whether the text of a value is withheld from people: by its name, or by the schema of a site input. */
export type IsHidden = (name: string) => boolean;

/** By the site inputs of these channels. */
export const hiddenNames = (needs: KnownNeeds): IsHidden => {
  const inputs = [...needs.values()].filter((one) => one !== undefined).map((one: Needs) => one.inputs);
  const writeOnly = new Set(inputs.flatMap((properties) => [...writeOnlyNames({ properties })]));
  return (name) => writeOnly.has(name) || namesSecretValue(name);
};

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
