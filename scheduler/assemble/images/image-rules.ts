import type { ImageFields, KindFields } from '../../model/images/image-fields.ts';
import { KNOWN_FIELDS } from './known-fields.ts';

/** Image fields that the platform declares and those of well-known kinds, indexed by kind. */
export type ImageRules = {
  readonly fieldsOf: (group: string, kind: string) => readonly KindFields[];
  readonly notImagesOf: (group: string, kind: string) => readonly Omit<KindFields, 'parts'>[];
  readonly isImageEnv: (name: string) => boolean;
  readonly isImageOption: (name: string) => boolean;
  /** undefined: no exceptions. */
  readonly isImageAnnotation: ((name: string) => boolean) | undefined;
  readonly isLeftOut: (chartImage: string) => boolean;
};

const NONE: readonly ImageFields[] = [];
const made = new WeakMap<readonly ImageFields[], ImageRules>();

/** Cached for each list. @param own the ImageFields objects of the platform */
export const imageRules = (own: readonly ImageFields[] = NONE): ImageRules => {
  const known = made.get(own);
  if (known) return known;
  const all = [KNOWN_FIELDS, ...own];
  const fields = byKind(all.flatMap((one) => one.fields));
  const notImages = byKind(all.flatMap((one) => one.notImages.fields));
  const env = matcher(all.flatMap((one) => one.env));
  const notEnv = matcher(all.flatMap(({ notImages: { env: names } }) => names));
  const annotations = all.flatMap((one) => one.annotations);
  const rules: ImageRules = {
    fieldsOf: (group, kind) => fields.get(`${group} ${kind}`) ?? [],
    notImagesOf: (group, kind) => notImages.get(`${group} ${kind}`) ?? [],
    isImageEnv: (name) => env(name) && !notEnv(name),
    isImageOption: matcher(all.flatMap((one) => one.args)),
    isImageAnnotation: annotations.length === 0 ? undefined : matcher(annotations),
    isLeftOut: matcher(all.flatMap(({ notImages: { charts } }) => charts)),
  };
  made.set(own, rules);
  return rules;
};

const byKind = <T extends Pick<KindFields, 'group' | 'kind'>>(
  all: readonly T[],
): ReadonlyMap<string, readonly T[]> => Map.groupBy(all, ({ group, kind }) => `${group} ${kind}`);

const matcher = (patterns: readonly string[]): ((text: string) => boolean) => {
  const found = [...new Set(patterns)].map(
    (pattern) =>
      new RegExp(
        `^${pattern
          .split('*')
          .map((part) => RegExp.escape(part))
          .join('.*')}$`,
        's',
      ),
  );
  return (text) => found.some((one) => one.test(text));
};
