import type { Composition } from '../plan/compose/compose-config.ts';
import type { Assignment, Platform, RenderedPackage, Template } from '../model/model.ts';
import type { Renders } from './remember-renders.ts';

/**
 * Caches of a server between builds. `packages` is keyed by cluster type, then by deployment target; each entry also has the
 * objects that it was rendered from.
 */
export type RenderMemory = {
  readonly renders: WeakMap<Template, Renders>;
  readonly compositions: Map<string, Composition>;
  readonly packages: Map<object, Map<object, RememberedPackage>>;
};

export type RememberedPackage = {
  readonly composition: Composition;
  readonly templates: readonly (Template | undefined)[];
  readonly rendered: RenderedPackage;
};

export const createRenderMemory = (): RenderMemory => ({
  renders: new WeakMap(),
  compositions: new Map(),
  packages: new Map(),
});

/** Cache of rendered packages for one build. `forgetOthers` drops entries that the build did not use. */
export type RememberedPackages = {
  readonly find: (assignment: Assignment, composition: Composition) => RenderedPackage | undefined;
  readonly keep: (rendered: RenderedPackage, composition: Composition) => void;
  readonly forgetOthers: () => void;
};

/** Reuses a package if its cluster type, target, policy, configuration and templates are still the same objects. */
export const rememberPackages = (platform: Platform, memory: RenderMemory): RememberedPackages => {
  const next = new Map<object, Map<object, RememberedPackage>>();
  const templatesOf = new Map(
    platform.clusterTypes.map((type) => [
      type,
      [type.namespaceService, type.configType, type.reconciler].map((name) => platform.templates.get(name)),
    ]),
  );
  const put = ({ clusterType, target }: Assignment, one: RememberedPackage): void => {
    const ofType = next.get(clusterType) ?? new Map<object, RememberedPackage>();
    next.set(clusterType, ofType.set(target, one));
  };
  return {
    find: (assignment, composition) => {
      const { clusterType, target, policy } = assignment;
      const known = memory.packages.get(clusterType)?.get(target);
      if (known?.composition !== composition || known.rendered.assignment.policy !== policy) return undefined;
      if (!templatesOf.get(clusterType)?.every((template, at) => template === known.templates[at]))
        return undefined;
      put(assignment, known);
      return known.rendered;
    },
    keep: (rendered, composition) => {
      const templates = templatesOf.get(rendered.assignment.clusterType) ?? [];
      put(rendered.assignment, { composition, templates, rendered });
    },
    forgetOthers: () => {
      const used = new Set(
        [...next.values()].flatMap((one) => [...one.values()].map(({ composition }) => composition)),
      );
      for (const [key, one] of memory.compositions) if (!used.has(one)) memory.compositions.delete(key);
      memory.packages.clear();
      for (const [type, packages] of next) memory.packages.set(type, packages);
    },
  };
};
