import type { Config } from '../config/config.ts';
import type { ImageProvider } from './image-provider.ts';

/** The providers that the configuration names. */
export const makeProviders = async (
  _config: Config,
  _env: NodeJS.ProcessEnv,
): Promise<readonly ImageProvider[]> => [];
