export { didYouMean, nearestName } from '#bundles/nearest-name';
