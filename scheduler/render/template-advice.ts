import { FleetError, type Place } from '#bundles/errors';
import type { ClusterType, Platform, RenderedPackage, Template } from '../model/model.ts';
import { findMissingTemplates } from './template-cache.ts';
import type { Schedule } from '../plan/schedule/schedule-platform.ts';

/**
 * Warnings about Templates: those that an unused cluster type names and that do not exist, and values that are printed as
 * `<no value>`.
 */
export const templateAdvice = (
  platform: Platform,
  { assignments }: Pick<Schedule, 'assignments'>,
  packages: readonly RenderedPackage[],
): readonly FleetError[] => {
  const used = new Set(assignments.map(({ clusterType }) => clusterType));
  return [...findMissingTemplates(platform, used), ...findNoValues(platform, packages)];
};

const NO_VALUE = '<no value>';
/** An action that only prints a field of the root. */
const PRINTED = /\{\{-?\s*\$?\.(ConfigData|Manifests|Labels)\.(\w+(?:\.\w+)*)\s*-?\}\}/g;

/** `what` names the missing value: 'ConfigData.url has no value'. */
type Unset = { readonly what: string; readonly template: string; readonly at: Place; readonly hint: string };

const HINTS = {
  ConfigData: 'Set it in configuration that selects the assignment',
  Manifests: 'Set it in the manifests of the deployment target',
  Labels: 'Set it in the labels of the deployment target',
} as const;

const findNoValues = (platform: Platform, packages: readonly RenderedPackage[]): readonly FleetError[] => {
  const found = new Map<string, { readonly unset: Unset; readonly assignments: string[] }>();
  for (const one of packages) {
    if (!one.files.some(({ text }) => text.includes(NO_VALUE))) continue;
    const { clusterType, target } = one.assignment;
    const fields = unsetIn(platform, one);
    for (const unset of fields.length > 0 ? fields : printedIn(platform, one)) {
      const id = `${unset.template}\0${unset.what}`;
      const entry = found.get(id) ?? { unset, assignments: [] };
      entry.assignments.push(`${clusterType.name}/${target.name}`);
      found.set(id, entry);
    }
  }
  return [...found.values()].map(({ unset: { what, template, at, hint }, assignments }) => {
    const [first = '', ...more] = assignments;
    const where = more.length === 0 ? first : `${first} and ${more.length} more`;
    return new FleetError('REFERENCE_MISSING', `${what} in ${where}, and is printed as ${NO_VALUE}`, {
      subject: `Template ${template}`,
      at,
      hint,
    });
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
      printedFields(template).filter(({ field, path }) => !isSet(values[field], path.split('.'))),
    )
    .map(({ field, path, template, at }) => ({
      what: `${field}.${path} has no value`,
      template,
      at,
      hint: HINTS[field],
    }));
};

const isSet = (value: unknown, [key, ...deeper]: readonly string[]): boolean => {
  if (key === undefined) return value !== null;
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, key) && isSet((value as Readonly<Record<string, unknown>>)[key], deeper);
};

/**
 * Finds values that a pipeline, a variable or an inner scope printed. Only the line of the output is known, so the hint asks
 * to search the Template.
 */
const printedIn = (platform: Platform, { assignment, files }: RenderedPackage): readonly Unset[] => {
  const { clusterType } = assignment;
  return files.flatMap(({ path, text }) => {
    const name = templateOf(clusterType, path);
    const template = platform.templates.get(name);
    const index = text.indexOf(NO_VALUE);
    if (template?.engine !== 'go' || index === -1) return [];
    const line = text.slice(0, index).split('\n').length;
    const what = `a value on line ${line} of ${path} is not set`;
    const hint = 'Look for what the Template prints there, and set that value';
    return [{ what, template: name, at: template.at, hint }];
  });
};

/** Name of the Template that renders a file of a cluster type. */
export const templateOf = (
  { namespaceService, reconciler, configType }: ClusterType,
  path: string,
): string => {
  if (path.startsWith('namespace.')) return namespaceService;
  return path.startsWith('reconciler.') ? reconciler : configType;
};

const printedFields = ({ name: template, manifests }: Template) =>
  manifests.flatMap(({ text, at }) =>
    [...text.matchAll(PRINTED)].map(({ 1: field, 2: path = '', index }) => ({
      field: field as keyof typeof HINTS,
      path,
      template,
      at: { ...at, line: (at.line ?? 1) + text.slice(0, index).split('\n').length - 1 },
    })),
  );
