import { FleetError, type Place } from '#bundles/errors';
import { builtInTemplates } from '../load/platform/built-in-templates.ts';
import type { ClusterType, Platform, PlatformForm, Template, TemplateType } from '../model/model.ts';
import { didYouMean } from '#bundles/nearest-name';
import { type Renders, rememberRenders } from './remember-renders.ts';
import type { CachedRender, TemplateContext } from '../model/template-context.ts';
import type { CompiledTemplate, TemplateSource } from './template-source.ts';

export type File = { readonly path: string; readonly rendered: CachedRender };

export type TemplateCache = {
  /**
   * Renders one file of a package; undefined when there is nothing to write.
   * @throws FleetError REFERENCE_MISSING, FIELD_INVALID, TEMPLATE_SYNTAX, TEMPLATE_FAILED, TEMPLATE_LIMIT
   */
  readonly render: (
    clusterType: ClusterType,
    type: TemplateType,
    context: TemplateContext,
  ) => File | undefined;
};

type Entry = { readonly template: Template; readonly renders: Renders };

/**
 * A platform's templates, each compiled on first use. @param known compiled templates and their caches from earlier builds
 */
export const createTemplateCache = (
  { form, templates }: Pick<Platform, 'form' | 'templates'>,
  compile: (source: TemplateSource) => CompiledTemplate,
  known = new WeakMap<Template, Renders>(),
): TemplateCache => {
  const entries = new Map<string, Entry | FleetError>();
  const open = (clusterType: ClusterType, type: TemplateType): Entry => {
    const name = clusterType[FIELDS[type]];
    const template = templates.get(name);
    if (!template) throw missing(clusterType, type, name, templates);
    // Kalypso's scheduler ignores the type (behaviour spec section 1).
    if (form === 'fleet' && template.type !== type) throw wrongType(clusterType, type, template);
    const entry = entries.get(name) ?? compileAll(template, compile, known);
    entries.set(name, entry);
    if (entry instanceof FleetError) throw entry;
    return entry;
  };
  return {
    render: (clusterType, type, context) => {
      const { template, renders } = open(clusterType, type);
      const rendered = renders(context);
      if (rendered.isEmpty && (form === 'fleet' || type === 'config')) return undefined;
      return { path: pathOf(form, type, template), rendered };
    },
  };
};

const compileAll = (
  template: Template,
  compile: (source: TemplateSource) => CompiledTemplate,
  known: WeakMap<Template, Renders>,
): Entry | FleetError => {
  const before = known.get(template);
  if (before) return { template, renders: before };
  try {
    const { engine, name, manifests } = template;
    const compiled = manifests.map((manifest) => compile({ engine, name, ...manifest }));
    const renders = rememberRenders(compiled);
    known.set(template, renders);
    return { template, renders };
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
};

/** behaviour spec 2.7: only configuration has a content type; Kalypso's form distinguishes sh from yaml only. */
const pathOf = (form: PlatformForm, type: TemplateType, template: Template): string => {
  switch (type) {
    case 'reconciler':
      return 'reconciler.yaml';
    case 'namespace':
      return 'namespace.yaml';
    case 'config': {
      const extension = template.contentType ?? 'yaml';
      return `platform-config.${form === 'fleet' || extension === 'sh' ? extension : 'yaml'}`;
    }
  }
};

const FIELDS = {
  reconciler: 'reconciler',
  namespace: 'namespaceService',
  config: 'configType',
} as const satisfies Record<TemplateType, string>;

const placeOfName = (clusterType: ClusterType, type: TemplateType): Place =>
  clusterType.places?.[FIELDS[type]] ?? clusterType.at;

/**
 * REFERENCE_MISSING for Templates that cluster types name and that do not exist. `used` cluster types are left out, because
 * their assignments report it.
 */
export const findMissingTemplates = (
  { clusterTypes, templates }: Pick<Platform, 'clusterTypes' | 'templates'>,
  used: ReadonlySet<ClusterType>,
): readonly FleetError[] =>
  clusterTypes
    .filter((clusterType) => !used.has(clusterType))
    .flatMap((clusterType) =>
      (Object.keys(FIELDS) as TemplateType[])
        .filter((type) => !templates.has(clusterType[FIELDS[type]]))
        .map((type) => missing(clusterType, type, clusterType[FIELDS[type]], templates)),
    );

const missing = (
  clusterType: ClusterType,
  type: TemplateType,
  name: string,
  own: Platform['templates'],
): FleetError =>
  new FleetError('REFERENCE_MISSING', `there is no Template ${name}, which ${FIELDS[type]} names`, {
    subject: `ClusterType ${clusterType.name}`,
    at: placeOfName(clusterType, type),
    hint: `${didYouMean(name, [...own.keys(), ...builtInTemplates().map((one) => one.name)]) ?? ''}Write that Template, or name another one`,
  });

const wrongType = (clusterType: ClusterType, type: TemplateType, template: Template): FleetError =>
  new FleetError(
    'FIELD_INVALID',
    `Template ${template.name} is of type ${template.type}, and ${FIELDS[type]} wants ${type}`,
    {
      subject: `ClusterType ${clusterType.name}`,
      at: placeOfName(clusterType, type),
      hint: 'Name another Template',
    },
  );
