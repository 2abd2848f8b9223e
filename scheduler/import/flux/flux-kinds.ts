import { groupOf, kindOf, textAt } from '../read/manifests.ts';
import type { Manifest } from '../imported.ts';

const SOURCE = 'source.toolkit.fluxcd.io';

export const isKustomization = (value: Manifest): boolean =>
  groupOf(value) === 'kustomize.toolkit.fluxcd.io' && kindOf(value) === 'Kustomization';

export const isHelmRelease = (value: Manifest): boolean =>
  groupOf(value) === 'helm.toolkit.fluxcd.io' && kindOf(value) === 'HelmRelease';

export const isSource = (value: Manifest): boolean =>
  groupOf(value) === SOURCE || groupOf(value) === 'source.extensions.fluxcd.io';

/** Objects that only Flux reads: without Flux they do nothing. */
export const isForFlux = (value: Manifest): boolean =>
  /(^|\.)fluxcd\.(?:io|controlplane\.io)$/.test(groupOf(value));

/** Selector of the objects of Flux's own controllers, as `flux bootstrap` and `flux install` write them. */
export const FLUX_ITSELF = 'app.kubernetes.io/part-of=flux';

export const isFluxItself = (value: Manifest): boolean =>
  textAt(value, 'metadata', 'labels', 'app.kubernetes.io/part-of') === 'flux';
