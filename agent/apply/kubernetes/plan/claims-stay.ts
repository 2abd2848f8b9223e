import { isRecord } from '#bundles/is-record';
import { stableText } from '#bundles/json/stable-hash';
import type { LiveObject } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';

/**
 * The part of a reason that names the claims of a StatefulSet which stay: new templates do not change those that exist (checklist R3). '' if
 * the templates are the same.
 */
export const claimsStay = ({ group, kind, object }: WantedObject, live: LiveObject): string => {
  if (group !== 'apps' || kind !== 'StatefulSet') return '';
  const [before, after] = [live, object].map(({ spec }) =>
    isRecord(spec) && Array.isArray(spec['volumeClaimTemplates'])
      ? sizesOf(spec['volumeClaimTemplates'])
      : [],
  );
  return stableText(before) === stableText(after)
    ? ''
    : '; claims that exist stay as they are, and its new templates hold for new ones only';
};

/** The part of claim templates without the server's defaults. */
const sizesOf = (templates: readonly unknown[]): readonly unknown[] =>
  templates
    .filter(isRecord)
    .map(({ metadata, spec }) => [
      isRecord(metadata) ? metadata['name'] : undefined,
      isRecord(spec) ? [spec['resources'], spec['storageClassName'] ?? null] : undefined,
    ]);
