import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import {
  formatObjects,
  type KubernetesObject,
  readKubernetesObjects,
} from '../../model/kubernetes/kubernetes-object.ts';
import { sopsMac } from '../../model/kubernetes/sops-mac.ts';
import type { DeploymentTarget } from '../../model/model.ts';
import { type AnnotationRule, annotationRules } from '../charts/annotation-rules.ts';
import { type Application, showFile } from './application.ts';

/**
 * The application with the annotations that its deployment target sets. Files without such an object stay as they are; so does a file
 * that cannot be read, which is reported where it is put together.
 * @throws FleetError REFERENCE_MISSING for a rule without an object, FIELD_INVALID for a wrong rule or an encrypted object
 */
export const annotate = (application: Application, target: DeploymentTarget): Application => {
  const rules = annotationRules(target);
  if (rules.length === 0) return application;
  const used = new Set<AnnotationRule>();
  const kinds = new Map<string, string[]>();
  const files = new Map(
    [...application.files].map(([path, bytes]) => {
      if (!/\.ya?ml$/.test(path)) return [path, bytes];
      const problems: FleetError[] = [];
      const objects = readKubernetesObjects(showFile(application, path), bytes, problems);
      if (problems.length > 0) return [path, bytes];
      for (const { kind, name } of objects) kinds.set(kind, [...(kinds.get(kind) ?? []), name]);
      const found = objects.flatMap((object) =>
        rules.filter((rule) => isMeant(rule, object)).map((rule) => ({ object, rule })),
      );
      if (found.length === 0) return [path, bytes];
      for (const { object, rule } of found) {
        used.add(rule);
        set(object, rule, target);
      }
      return [path, Buffer.from(formatObjects(objects))];
    }),
  );
  const unused = rules.find((rule) => !used.has(rule));
  if (unused) throw noObject(unused, kinds.get(unused.kind) ?? [], target);
  return { ...application, files };
};

const isMeant = ({ kind, name }: AnnotationRule, object: KubernetesObject): boolean =>
  object.kind === kind && (name === '*' || object.name === name);

const set = (object: KubernetesObject, rule: AnnotationRule, { name, at }: DeploymentTarget): void => {
  if (sopsMac(object) !== undefined)
    throw new FleetError(
      'FIELD_INVALID',
      `manifests: objectAnnotations cannot be set on ${object.kind} ${object.name}, which is encrypted`,
      { subject: name, at, hint: 'Set them in its file before it is encrypted' },
    );
  for (const [key, value] of Object.entries(rule.set))
    object.parsed.document.setIn(['metadata', 'annotations', key], value);
};

const noObject = (
  { kind, name }: AnnotationRule,
  others: readonly string[],
  target: DeploymentTarget,
): FleetError =>
  new FleetError(
    'REFERENCE_MISSING',
    `manifests: objectAnnotations names ${kind} ${name}, which the application does not have`,
    {
      subject: target.name,
      at: target.at,
      hint: others.length > 0 ? `Its objects of that kind are ${nameSome(others)}` : `It has no ${kind}`,
    },
  );
