import type { Place } from '#bundles/errors';
import type { Application } from '../../load/applications/application.ts';
import type { ImageRules } from './image-rules.ts';

/** Images that an application's chart lists, without those that the platform declares as not needed. */
export const imagesOfCharts = (
  application: Application | undefined,
  { isLeftOut }: ImageRules,
): readonly { readonly image: string; readonly at: Place }[] =>
  (application?.images ?? []).filter(({ image }) => !isLeftOut(image));
