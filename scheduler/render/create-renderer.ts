import { FleetError, toFleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { ALLOW_NAMESPACES } from '../model/bounds.ts';
import { createConfigCheck } from '../plan/compose/check-config.ts';
import { type Composition, createComposer } from '../plan/compose/compose-config.ts';
import type { RememberedPackages, RenderMemory } from './remember-packages.ts';
import type {
  Assignment,
  ClusterType,
  HeldAssignment,
  RenderedFile,
  RenderedPackage,
} from '../model/model.ts';
import { createFetchCheck } from './check-fetched.ts';
import { compileTemplate } from './compile-template.ts';
import { createTemplateCache } from './template-cache.ts';
import type { CachedRender, TemplateContext } from '../model/template-context.ts';
import { fill } from './remember-renders.ts';
import { createTypeDigests, type RenderingPlatform, type TypeDigests } from './type-digests.ts';

export type Renderer = {
  /**
   * @param isKnown an earlier run rendered all packages of the cluster type from the same inputs, held none, and found no definition of a kind.
   * The package is then not checked again, and its files are rendered on first read.
   */
  readonly render: (assignment: Assignment, isKnown?: boolean) => RenderedPackage | HeldAssignment;
  /** Digests of what the packages of a cluster type are rendered from; undefined if the configuration of one cannot be composed. */
  readonly digestsOf: (
    clusterType: ClusterType,
    assignments: readonly Assignment[],
  ) => TypeDigests | undefined;
};

export const isHeld = (rendered: RenderedPackage | HeldAssignment): rendered is HeldAssignment =>
  'error' in rendered;

/**
 * Renders assignments of one platform, one per call, so that a server can do other work in between. Each template is
 * compiled once; configuration is composed and validated once for all assignments that share it. An error holds only its own
 * assignment: it is returned, not thrown.
 */
export const createRenderer = (
  platform: RenderingPlatform,
  memory?: RenderMemory,
  known?: RememberedPackages,
): Renderer => {
  const composer = createComposer(platform, memory?.compositions);
  const check = createConfigCheck(platform.form);
  const checkFetched = createFetchCheck(platform);
  const book = createTemplateCache(platform, compileTemplate, memory?.renders);
  const filesOf = (
    { clusterType, target }: Assignment,
    namespace: string,
    { values }: Composition,
  ): readonly RenderedFile[] => {
    const context: TemplateContext = {
      deploymentTargetName: target.name,
      namespace,
      environment: platform.environment,
      workspace: target.workspace,
      workload: target.workload,
      labels: target.labels,
      manifests: target.manifests as TemplateContext['manifests'],
      clusterType: clusterType.name,
      clusterTypeLabels: clusterType.labels,
      configData: values,
    };
    return [
      book.render(clusterType, 'namespace', context),
      book.render(clusterType, 'config', context),
      book.render(clusterType, 'reconciler', context),
    ].flatMap((file) => (file ? [new LazyFile(file.path, file.rendered, context)] : []));
  };
  const render = (assignment: Assignment, isKnown: boolean): RenderedPackage => {
    const { clusterType, target } = assignment;
    const config = composer(clusterType, target);
    if (!isKnown) checkFetched(assignment, config.plain);
    const same = known?.find(assignment, config);
    if (same) return same;
    const namespace = namespaceOf(platform, assignment);
    const wrong = isKnown ? undefined : check(config, target, `${clusterType.name}/${target.name}`);
    if (wrong) throw wrong;
    const rendered = isKnown
      ? new LazyPackage(assignment, namespace, config, filesOf)
      : { assignment, files: filesOf(assignment, namespace, config), namespace, configData: config.plain };
    known?.keep(rendered, config);
    return rendered;
  };
  const digestsOf = createTypeDigests(platform);
  return {
    render: (assignment, isKnown = false) => {
      try {
        return render(assignment, isKnown);
      } catch (error) {
        const { clusterType, target } = assignment;
        return { assignment, error: toFleetError(error, `rendering ${clusterType.name}/${target.name}`) };
      }
    },
    digestsOf: (clusterType, assignments) => {
      try {
        return digestsOf(
          clusterType,
          assignments.map((one) => [one, composer(clusterType, one.target)]),
        );
      } catch {
        // `render` returns the error, for each package that has one.
        return undefined;
      }
    },
  };
};

/**
 * The namespace that the target names, or `<environment>-<cluster type>-<deployment target>`.
 * @throws FleetError NAME_INVALID when it is too long, in our form only; NAMESPACE_FOREIGN for one that its registration does not allow
 */
const namespaceOf = (platform: RenderingPlatform, { clusterType, target }: Assignment): string => {
  if (target.namespace !== undefined && clusterType.target === 'kubernetes')
    return allowedNamespace(target, target.namespace);
  const namespace = `${platform.environment}-${clusterType.name}-${target.name}`;
  // Kalypso's templates may not use the namespace, and existing trees have longer ones.
  const fits: boolean = isName(namespace);
  if (fits || platform.form === 'kalypso' || clusterType.target === 'host') return namespace;
  throw new FleetError(
    'NAME_INVALID',
    `the namespace ${namespace} is longer than the 63 characters that fit`,
    {
      subject: `${clusterType.name}/${target.name}`,
      at: target.at,
      hint: 'Shorten the name of the environment, the cluster type, the workload or the target',
    },
  );
};

const allowedNamespace = (
  { name, registration, bounds, at }: Assignment['target'],
  namespace: string,
): string => {
  const { namespaces = [] } = bounds ?? {};
  if (registration === undefined || namespaces.includes('*') || namespaces.includes(namespace))
    return namespace;
  throw new FleetError(
    'NAMESPACE_FOREIGN',
    `the namespace ${namespace} is not one that its registration allows`,
    {
      subject: name,
      at,
      hint: `Leave namespace out, or have it allowed: ${ALLOW_NAMESPACES}: ${namespace} on the WorkloadRegistration`,
    },
  );
};

/** A package whose files are rendered when they are first read. */
class LazyPackage implements RenderedPackage {
  readonly assignment: Assignment;
  readonly namespace: string;
  readonly definesNothing = true;
  readonly #config: Composition;
  readonly #filesOf: FilesOf;
  #files: readonly RenderedFile[] | undefined;

  constructor(assignment: Assignment, namespace: string, config: Composition, filesOf: FilesOf) {
    this.assignment = assignment;
    this.namespace = namespace;
    this.#config = config;
    this.#filesOf = filesOf;
  }

  get configData(): RenderedPackage['configData'] {
    return this.#config.plain;
  }

  get files(): readonly RenderedFile[] {
    return (this.#files ??= this.#filesOf(this.assignment, this.namespace, this.#config));
  }
}

type FilesOf = (assignment: Assignment, namespace: string, config: Composition) => readonly RenderedFile[];

/**
 * A rendered file whose text is created on each read. A fleet may have 150,000 files, and most share their text except for
 * a few names.
 */
class LazyFile implements RenderedFile {
  readonly path: string;
  readonly rendered: CachedRender;
  readonly context: TemplateContext;

  constructor(path: string, rendered: CachedRender, context: TemplateContext) {
    this.path = path;
    this.rendered = rendered;
    this.context = context;
  }

  get text(): string {
    return fill(this.rendered, this.context);
  }
}
