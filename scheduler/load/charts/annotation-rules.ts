import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { didYouMean } from '#bundles/nearest-name';
import { ADOPTS } from '../../model/adopts.ts';
import type { DeploymentTarget, Value } from '../../model/model.ts';

/** Annotations of ours for objects of an application that its author may not edit, such as those of a chart. */
export type AnnotationRule = {
  readonly kind: string;
  /** '*' for all objects of the kind. */
  readonly name: string;
  readonly set: Readonly<Record<string, string>>;
};

/** docs/kubernetes.md, "Annotations for authors", with the values that each takes. */
const ANNOTATIONS: Readonly<Record<string, readonly string[] | RegExp>> = {
  'fleet-ferry/adopt': ADOPTS,
  'fleet-ferry/apply': ['ifNotPresent', 'ignore', 'override'],
  'fleet-ferry/depends-on': /^[^/,]*\/[^,]+(?:,[^/,]*\/[^,]+)*$/,
  'fleet-ferry/conflicts': ['report', 'force'],
  'fleet-ferry/drift': ['report', 'ignore', 'correct'],
  'fleet-ferry/ignore': /^\/[^,]+(?:,\s*\/[^,]+)*$/,
  'fleet-ferry/ignore-managers': /^[^,]{1,128}(?:,[^,]{1,128})*$/,
  'fleet-ferry/hook': ['before', 'after'],
  'fleet-ferry/timeout': /^[1-9][0-9]{0,4}[smh]$/,
  'fleet-ferry/wave': /^[-+]?\d{1,9}$/,
  'fleet-ferry/fields': ['strict', 'merge'],
  'fleet-ferry/force': ['enabled', 'with-contents', 'disabled'],
  'fleet-ferry/prune': ['disabled', 'enabled'],
  'fleet-ferry/wait': ['disabled', 'enabled'],
};

const EXAMPLE =
  'Write objectAnnotations: [{target: {kind: PersistentVolumeClaim, name: data}, set: {fleet-ferry/prune: disabled}}]';

/** Reads `objectAnnotations` of a target's `manifests`. @throws FleetError FIELD_INVALID */
export const annotationRules = (target: DeploymentTarget): readonly AnnotationRule[] => {
  const written = target.manifests['objectAnnotations'];
  if (written === undefined || written === null) return [];
  if (!Array.isArray(written)) throw wrong(target, 'objectAnnotations is not a list', EXAMPLE);
  return written.map((one: Value, at) => {
    const { target: named, set, ...more } = mapping(one) ?? {};
    const { kind, name, ...others } = mapping(named) ?? {};
    const values = Object.entries(mapping(set) ?? {});
    const extra = Object.keys({ ...more, ...others })[0];
    if (typeof kind !== 'string' || typeof name !== 'string' || values.length === 0 || extra !== undefined)
      throw wrong(
        target,
        extra === undefined
          ? `objectAnnotations[${at}] needs a target with kind and name, and set`
          : `objectAnnotations[${at}] has the unknown field ${extra}`,
        EXAMPLE,
      );
    for (const [key, value] of values) checkAnnotation(target, at, key, value);
    return { kind, name, set: Object.fromEntries(values) as AnnotationRule['set'] };
  });
};

const checkAnnotation = (target: DeploymentTarget, at: number, key: string, value: Value): void => {
  const allowed = Object.hasOwn(ANNOTATIONS, key) ? ANNOTATIONS[key] : undefined;
  if (!allowed)
    throw wrong(
      target,
      `objectAnnotations[${at}] sets ${JSON.stringify(key)}, which is not an annotation for authors`,
      `${didYouMean(key, Object.keys(ANNOTATIONS)) ?? ''}It can be ${Object.keys(ANNOTATIONS).join(', ')}`,
    );
  const isPattern = allowed instanceof RegExp;
  if (typeof value === 'string' && (isPattern ? allowed.test(value) : allowed.includes(value))) return;
  throw wrong(
    target,
    `objectAnnotations[${at}] sets ${key} to ${JSON.stringify(value)}`,
    isPattern
      ? 'docs/kubernetes.md, "Annotations for authors", has its form'
      : `It can be ${allowed.join(' or ')}`,
  );
};

const mapping = (value: Value | undefined): { readonly [key: string]: Value } | undefined =>
  isRecord(value) ? value : undefined;

const wrong = ({ name, at }: DeploymentTarget, what: string, hint: string): FleetError =>
  new FleetError('FIELD_INVALID', `manifests: ${what}`, { subject: name, at, hint });
