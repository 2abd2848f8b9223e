import { FleetError, type Place } from '#bundles/errors';
import type { Platform, RenderedPackage, Template } from '../platform/model.ts';
import { findMissingTemplates } from '../render/template-book.ts';
import type { Schedule } from '../schedule/schedule-platform.ts';

/** Advice about Templates: those that nothing selects and nobody wrote, and values that they print as `<no value>`. */
export const templateAdvice = (
  platform: Platform,
  { assignments }: Pick<Schedule, 'assignments'>,
  packages: readonly RenderedPackage[],
): readonly FleetError[] => {
  const used = new Set(assignments.map(({ clusterType }) => clusterType));
  return [...findMissingTemplates(platform, used), ...findNoValues(platform, packages)];
};

const NO_VALUE = '<no value>';
/** An action that prints a field and nothing else. */
const PRINTED = /\{\{-?\s*\.(ConfigData|Manifests|Labels)\.(\w+)\s*-?\}\}/g;

type Unset = { readonly key: string; readonly template: string; readonly at: Place; readonly hint: string };

const HINTS = {
  ConfigData: 'Set it in configuration that selects the assignment',
  Manifests: 'Set it in the manifests of the deployment target',
  Labels: 'Set it in the labels of the deployment target',
} as const;

const findNoValues = (platform: Platform, packages: readonly RenderedPackage[]): readonly FleetError[] => {
  const found = new Map<string, { readonly unset: Unset; readonly assignments: string[] }>();
  for (const one of packages) {
    if (!one.files.some(({ bytes }) => bytes.includes(NO_VALUE))) continue;
    const { clusterType, target } = one.assignment;
    for (const unset of unsetIn(platform, one)) {
      const id = `${unset.template}\0${unset.key}`;
      const entry = found.get(id) ?? { unset, assignments: [] };
      entry.assignments.push(`${clusterType.name}/${target.name}`);
      found.set(id, entry);
    }
  }
  return [...found.values()].map(({ unset: { key, template, at, hint }, assignments }) => {
    const [first = '', ...more] = assignments;
    const where = more.length === 0 ? first : `${first} and ${more.length} more`;
    return new FleetError(
      'REFERENCE_MISSING',
      `${key} has no value in ${where}, and is printed as ${NO_VALUE}`,
      {
        subject: `Template ${template}`,
        at,
        hint,
      },
    );
  });
};

const unsetIn = (platform: Platform, { assignment, configData }: RenderedPackage): readonly Unset[] => {
  const { clusterType, target } = assignment;
  const values = { ConfigData: configData, Manifests: target.manifests, Labels: target.labels };
  const names = new Set([clusterType.reconciler, clusterType.namespaceService, clusterType.configType]);
  return [...names]
    .flatMap((name) => platform.templates.get(name) ?? [])
    .filter(({ engine }) => engine === 'go')
    .flatMap((template) =>
      printedFields(template).filter(({ field, name }) => {
        const known: Readonly<Record<string, unknown>> = values[field];
        return !Object.hasOwn(known, name) || known[name] === null;
      }),
    )
    .map(({ field, name, template, at }) => ({ key: `${field}.${name}`, template, at, hint: HINTS[field] }));
};

const printedFields = ({ name: template, manifests }: Template) =>
  manifests.flatMap(({ text, at }) =>
    [...text.matchAll(PRINTED)].map(({ 1: field, 2: name = '', index }) => ({
      field: field as keyof typeof HINTS,
      name,
      template,
      at: { ...at, line: (at.line ?? 1) + text.slice(0, index).split('\n').length - 1 },
    })),
  );
