import { FleetError, toFleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { createConfigCheck } from '../compose/check-config.ts';
import { createComposer } from '../compose/compose-config.ts';
import type { RenderMemory } from '../incremental/build-memory.ts';
import type { RememberedPackages } from '../incremental/remember-packages.ts';
import type { Assignment, HeldAssignment, Platform, RenderedPackage } from '../platform/model.ts';
import { compileTemplate } from './compile-template.ts';
import { MadeFile } from './made-file.ts';
import { createTemplateBook } from './template-book.ts';
import type { TemplateContext } from './template-context.ts';

export type Renderer = (assignment: Assignment) => RenderedPackage | HeldAssignment;

export const isHeld = (rendered: RenderedPackage | HeldAssignment): rendered is HeldAssignment =>
  'error' in rendered;

/**
 * Renders assignments of one platform, one at a time, so that a server can do other things in between. Templates are
 * compiled once, configuration is composed and judged once for all that share it. What is wrong with an assignment holds
 * that one and no other.
 */
export const createRenderer = (
  platform: Platform,
  memory?: RenderMemory,
  known?: RememberedPackages,
): Renderer => {
  const composer = createComposer(platform, memory?.compositions);
  const check = createConfigCheck(platform.form);
  const book = createTemplateBook(platform, compileTemplate, memory?.renders);
  return (assignment) => {
    const { clusterType, target } = assignment;
    try {
      const config = composer(clusterType, target);
      const same = known?.find(assignment, config);
      if (same) return same;
      const namespace = namespaceOf(platform, assignment);
      const wrong = check(config, target, `${clusterType.name}/${target.name}`);
      if (wrong) throw wrong;
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
        configData: config.values,
      };
      const files = [
        book.render(clusterType, 'namespace', context),
        book.render(clusterType, 'config', context),
        book.render(clusterType, 'reconciler', context),
      ].flatMap((file) => (file ? [new MadeFile(file.path, file.mould, context)] : []));
      const rendered = { assignment, files, namespace, configData: config.plain };
      known?.keep(rendered, config);
      return rendered;
    } catch (error) {
      return { assignment, error: toFleetError(error, `rendering ${clusterType.name}/${target.name}`) };
    }
  };
};

/** `<environment>-<cluster type>-<deployment target>`. @throws FleetError NAME_INVALID in our form, when that is too long */
const namespaceOf = (platform: Platform, { clusterType, target }: Assignment): string => {
  const namespace = `${platform.environment}-${clusterType.name}-${target.name}`;
  // Kalypso's templates may not use it, and its trees have longer ones.
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
