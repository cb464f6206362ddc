// Payments: hosted checkout and portal, and the events that keep plan and tier in step.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { PaymentProvider } from './provider.ts'
import { paymentRoutes } from './routes.ts'

export const feature = (world: World, { publicUrl }: { publicUrl: () => string }): Feature => ({
  routes: paymentRoutes(world, { provider: providerOf(world), publicUrl }),
})

/** Only processes that answer requests need it. */
function providerOf({ config }: World): PaymentProvider | null {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_URL: apiUrl } = config
  if (secretKey === null || webhookSecret === null || !config.ROLES.has('api')) return null
  return new PaymentProvider({ secretKey, webhookSecret, apiUrl })
}
